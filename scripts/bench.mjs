// Builds what is missing and runs the benchmark on the built program.
import { buildIfStale } from './build.mjs';

buildIfStale();
await import('../bench/bench.mjs');
