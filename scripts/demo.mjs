// Runs the demo from a fresh clone or a built one.
import { prepare } from './prepare.mjs';

await prepare('the demo');
const { spawn } = await import('node:child_process');
const { statSync } = await import('node:fs');
const { dirname, join } = await import('node:path');
const { fileURLToPath } = await import('node:url');
const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

bundleClientIfStale();
const { runDemo } = await import('../dist/demo/main.js');
process.exit(await runDemo(process.env, process.argv.slice(2)));

/** Beside the start: nobody types a command before there is something to see. */
function bundleClientIfStale() {
  const changedAt = (name) => statSync(join(ROOT, 'dist', name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedAt('gw.cjs') > changedAt('.stamp')) return;
  const bundling = spawn(process.execPath, [join(ROOT, 'scripts', 'build-cli.mjs')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  bundling.on('exit', (code) => {
    if (code) console.error('the command-line client could not be bundled; the rest of the demo works');
  });
}
