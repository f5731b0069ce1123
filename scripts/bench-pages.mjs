// Builds what is missing and measures the pages of the built program.
import { buildIfStale } from './build.mjs';

buildIfStale();
await import('../bench/pages.mjs');
