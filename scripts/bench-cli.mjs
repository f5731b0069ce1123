// How long the client takes to start beside Node itself: each in turn, so that a busy machine slows all alike.
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const RUNS = 30;
const WARM_UP_RUNS = 2;
/** What starting the client may add to starting Node. */
const MAX_OWN_MS = 25;

const scripts = join(ROOT, 'scripts');
execFileSync(process.execPath, [join(scripts, 'build-cli.mjs')], { stdio: 'ignore' });
const CLIENT = join(ROOT, 'dist', 'gw.cjs');
const COMMANDS = [
  ['node -e 0', ['-e', '0']],
  ['gw version', [CLIENT, 'version']],
  ['gw --help', [CLIENT, '--help']],
  ['gw keys --help', [CLIENT, 'keys', '--help']],
];

/** The shell's own clock: it counts the processor time of the child it waited for. */
function measure(args) {
  const script = 'TIMEFORMAT="%3R %3U %3S"; time "$@" > /dev/null';
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  const said = execFileSync(
    'bash',
    ['--norc', '-c', `{ ${script}; } 2>&1`, 'bash', process.execPath, ...args],
    {
      encoding: 'utf8',
      env,
      // On a socket bash would take itself for a remote login and read the user's settings.
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const [wall, user, system] = said
    .trim()
    .split(' ')
    .map((seconds) => Number(seconds) * 1_000);
  return { wall, cpu: user + system };
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

const measured = new Map(COMMANDS.map(([name]) => [name, []]));
for (let run = -WARM_UP_RUNS; run < RUNS; run++) {
  for (const [name, args] of COMMANDS) {
    const taken = measure(args);
    if (run >= 0) measured.get(name).push(taken);
  }
}

const rows = COMMANDS.map(([name]) => ({
  name,
  wall: median(measured.get(name).map(({ wall }) => wall)),
  cpu: median(measured.get(name).map(({ cpu }) => cpu)),
}));
const [node, version] = rows;
console.log(`Medians of ${RUNS} runs each, in turn, Node ${process.version}, in ms:`);
console.log(
  `${'command'.padEnd(16)}${'wall'.padStart(8)}${'cpu'.padStart(8)}${'over node: wall'.padStart(18)}${'cpu'.padStart(8)}`,
);
for (const { name, wall, cpu } of rows) {
  const own = [wall - node.wall, cpu - node.cpu].map((ms) => ms.toFixed(1));
  console.log(
    `${name.padEnd(16)}${wall.toFixed(1).padStart(8)}${cpu.toFixed(1).padStart(8)}${own[0].padStart(18)}${own[1].padStart(8)}`,
  );
}
const ownMs = version.cpu - node.cpu;
console.log(
  `gw version adds ${ownMs.toFixed(1)} ms of processor time to Node's own start; the bound is ${MAX_OWN_MS}`,
);
if (ownMs > MAX_OWN_MS) process.exitCode = 1;
