// Starts the server from a fresh clone or a built one.
import { prepare } from './prepare.mjs';

await prepare('gateway');
await import('../dist/server/main.js');
