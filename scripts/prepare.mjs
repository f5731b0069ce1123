// What comes before a program that npm starts, in the very process that becomes the program, so that signals reach it.
// Nothing newer than Node 14 may stand here, or old versions die of a syntax error before they are told.
const OLDEST_NODE = [20, 15];
const PARENT_CHECK_MS = 250;

/** Refuses a Node that is too old, builds what is stale, and sees to it that the program ends with npm. */
export async function prepare(name) {
  refuseOldNode(name);
  const { buildIfStale } = await import('./build.mjs');
  try {
    buildIfStale();
  } catch (fault) {
    console.error(`${name} could not be built: ${fault.message}`);
    process.exit(1);
  }
  stopWhenNpmIsGone();
}

function refuseOldNode(name) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  console.error(`${name} needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.version}`);
  process.exit(1);
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
