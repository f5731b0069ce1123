// Builds what is stale and runs the demo in this very process, so that signals reach it.
// Nothing newer than Node 14 may stand outside the check, or old versions die of a syntax error instead.
const OLDEST_NODE = [20, 15];
const PARENT_CHECK_MS = 250;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  console.error(`the demo needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.version}`);
  process.exit(1);
}

const { spawn } = await import('node:child_process');
const { statSync } = await import('node:fs');
const { dirname, join } = await import('node:path');
const { fileURLToPath } = await import('node:url');
const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const { buildIfStale } = await import('./build.mjs');
try {
  buildIfStale();
} catch (fault) {
  console.error(`the demo could not be built: ${fault.message}`);
  process.exit(1);
}
bundleClientIfStale();
stopWhenNpmIsGone();
const { runDemo } = await import('../dist/demo/main.js');
process.exit(await runDemo(process.env, process.argv.slice(2)));

/** Beside the start: nobody types a command before there is something to see. */
function bundleClientIfStale() {
  const changedAt = (name) => statSync(join(ROOT, 'dist', name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedAt('gw.mjs') > changedAt('.stamp')) return;
  const bundling = spawn(process.execPath, [join(ROOT, 'scripts', 'build-cli.mjs')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  bundling.on('exit', (code) => {
    if (code) console.error('the command-line client could not be bundled; the rest of the demo works');
  });
}

/** npm passes signals to its shell, and a shell that does not pass them on dies and leaves us running unseen. */
function stopWhenNpmIsGone() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_CHECK_MS);
  watch.unref();
}
