// Builds what is stale and runs the demo in this very process, so that signals reach it.
// Nothing newer than Node 14 may stand outside the check, or old versions die of a syntax error instead.
const OLDEST_NODE = [20, 15];
const PARENT_CHECK_MS = 250;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  console.error(`the demo needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.version}`);
  process.exit(1);
}

const { buildIfStale } = await import('./build.mjs');
try {
  buildIfStale();
} catch (fault) {
  console.error(`the demo could not be built: ${fault.message}`);
  process.exit(1);
}
stopWhenNpmIsGone();
const { runDemo } = await import('../dist/demo/main.js');
process.exit(await runDemo(process.env, process.argv.slice(2)));

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
