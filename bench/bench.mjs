// CPU per request of the metered gateway beside a bare pass-through of the same traffic, in one interleaved run,
// and a check that the ledger holds exactly what was sent.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from './load.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 8);
const REQUESTS_PER_ROUND = Number(process.env.BENCH_REQUESTS ?? 1500);
/** Until the compiler has settled on both sides. */
const WARM_UP_REQUESTS = 20_000;
const CONNECTIONS = 32;
const AIM = 1.6;

const children = [];
function start(args, env, ready) {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    let output = '';
    child.once('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)));
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const found = ready.exec(output);
      if (found) resolve({ pid: child.pid, found, output });
    });
  });
}

/** Nanoseconds of CPU that a process's threads have used. */
function cpuNs(pid) {
  let total = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread has ended since.
    }
  }
  return total;
}

/** PostgreSQL's processes: the children of the process whose parent is the gateway. */
function postgresPids(gatewayPid) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // Ended since.
    }
  }
  const postmaster = [...parents].find(([, parent]) => parent === gatewayPid)?.[0];
  return [...parents]
    .filter(([pid, parent]) => pid === postmaster || parent === postmaster)
    .map(([pid]) => pid);
}
const postgresNs = (gatewayPid) => postgresPids(gatewayPid).reduce((sum, pid) => sum + cpuNs(pid), 0);

async function api(base, method, path, token, body) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok)
    throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

async function ledgerCount(base, token) {
  return (await api(base, 'GET', '/v1/ledger?limit=1', token)).total;
}

async function untilLedgerHolds(base, token, count) {
  for (let tries = 0; tries < 600; tries += 1) {
    if ((await ledgerCount(base, token)) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the ledger never reached ${count} records`);
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const percentile = (numbers, share) =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length * share)] ?? 0;

/** What `npm start` gives node: the gateway is measured as it is run. */
function startFlags() {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return scripts.start.match(/--\S+/g) ?? [];
}

/** The three programs under test, started and warm. */
async function startAll(dataDir) {
  const simulator = await start(
    ['dist/simulator/main.js', '0'],
    {},
    /GATEWAY_PROV_A_URL=(\S+)[\s\S]*GATEWAY_PROV_D_URL=\S+/,
  );
  const upstream = simulator.found[1];
  const bare = await start(['bench/bare.mjs', upstream], {}, /http:\S+/);
  const env = {
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_PORT: '0',
    GATEWAY_PROXY_PORT: '0',
    GATEWAY_PROV_A_URL: upstream,
    GATEWAY_LOG_LEVEL: 'error',
  };
  const ready = /API\s+(http:\S+)\/v1[\s\S]*proxy\s+(http:\/\/[^/]+)[\s\S]*data/;
  const gateway = await start([...startFlags(), 'dist/server/main.js'], env, ready);
  const [, base, proxy] = gateway.found;
  const account = { name: 'bench', email: 'bench@example.com', password: 'bench bench' };
  const { token } = await api(base, 'POST', '/v1/auth/signup', null, account);
  await api(base, 'POST', '/v1/provider-keys', token, { provider: 'prov_a', key: 'sk-upstream' });
  const { key } = await api(base, 'POST', '/v1/api-keys', token, { name: 'bench' });
  return { bare, gateway, bareUrl: bare.found[0], base, proxy, token, key };
}

/** One round: so many requests through each, one after the other, and the CPU each took for its own. */
async function runRound(programs, traffic, ledgerShouldHold) {
  const { bare, gateway, bareUrl, base, proxy, token } = programs;
  const bareBefore = cpuNs(bare.pid);
  const bareRun = await load({ ...traffic, url: bareUrl, count: REQUESTS_PER_ROUND });
  const bareNs = cpuNs(bare.pid) - bareBefore;

  const [gatewayBefore, databaseBefore] = [cpuNs(gateway.pid), postgresNs(gateway.pid)];
  const gatewayRun = await load({ ...traffic, url: proxy, count: REQUESTS_PER_ROUND });
  await untilLedgerHolds(base, token, ledgerShouldHold);
  const perRequest = (ns) => ns / 1000 / REQUESTS_PER_ROUND;
  return {
    bare: perRequest(bareNs),
    gateway: perRequest(cpuNs(gateway.pid) - gatewayBefore),
    database: perRequest(postgresNs(gateway.pid) - databaseBefore),
    bareRun,
    gatewayRun,
  };
}

function printRounds(rounds) {
  const median = (pick) => percentile(rounds.map(pick), 0.5).toFixed(1);
  const ratio = percentile(
    rounds.map((round) => round.gateway / round.bare),
    0.5,
  ).toFixed(2);
  const latency = (run, share) =>
    percentile(
      rounds.flatMap((round) => round[run].latencies),
      share,
    ).toFixed(2);
  console.log(
    `\nCPU per request, median of ${ROUNDS} interleaved rounds of ${REQUESTS_PER_ROUND}, ${CONNECTIONS} connections:`,
  );
  console.log(`  bare pass-through   ${median((round) => round.bare)} µs`);
  console.log(
    `  metered gateway     ${median((round) => round.gateway)} µs   ${ratio} × bare (aim: at most ${AIM} ×)`,
  );
  console.log(`  its PostgreSQL      ${median((round) => round.database)} µs   (a process of its own)`);
  for (const [name, run] of [
    ['bare', 'bareRun'],
    ['gateway', 'gatewayRun'],
  ]) {
    console.log(
      `Latency under that load, ${name}: p50 ${latency(run, 0.5)} ms, p99 ${latency(run, 0.99)} ms`,
    );
  }
}

async function checkLedger({ base, token }, sent, rounds) {
  const good = sum(rounds.map((round) => round.gatewayRun.good));
  const verified = await api(base, 'GET', '/v1/ledger/verify', token);
  const recorded = await ledgerCount(base, token);
  const chain = verified.valid ? 'valid' : 'BROKEN';
  console.log(
    `Ledger: ${sent} sent, ${recorded} recorded, chain ${chain}, ${verified.records_checked} checked`,
  );
  if (good !== ROUNDS * REQUESTS_PER_ROUND || recorded !== sent || !verified.valid) {
    throw new Error('the ledger does not hold exactly what was sent');
  }
}

async function stopAll() {
  for (const child of children) child.removeAllListeners('exit').kill('SIGTERM');
  const ended = (child) =>
    child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.once('exit', resolve));
  await Promise.all(children.map(ended));
}

const BODY = JSON.stringify({
  model: 'gpt-4o-mini',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Say hello in one short sentence, please.' }],
});

const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
try {
  const programs = await startAll(dataDir);
  const headers = { authorization: `Bearer ${programs.key}` };
  const traffic = {
    path: '/v1/proxy/prov_a/v1/chat/completions',
    headers,
    body: BODY,
    connections: CONNECTIONS,
  };
  for (const url of [programs.bareUrl, programs.proxy])
    await load({ ...traffic, url, count: WARM_UP_REQUESTS });
  let sent = WARM_UP_REQUESTS;
  await untilLedgerHolds(programs.base, programs.token, sent);
  const rounds = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    sent += REQUESTS_PER_ROUND;
    rounds.push(await runRound(programs, traffic, sent));
    const { bare, gateway, database } = rounds.at(-1);
    const times = (gateway / bare).toFixed(2);
    console.log(
      `round ${round}: bare ${bare.toFixed(0)} µs, gateway ${gateway.toFixed(0)} µs (${times} ×), PostgreSQL ${database.toFixed(0)} µs`,
    );
  }
  printRounds(rounds);
  await checkLedger(programs, sent, rounds);
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
