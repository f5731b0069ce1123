// Builds what is missing and measures what the nightly analysis does to proxied calls.
import { buildIfStale } from './build.mjs';

buildIfStale();
await import('../bench/nightly.mjs');
