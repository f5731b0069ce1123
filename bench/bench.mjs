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

async function main() {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  try {
    const simulator = await start(
      ['dist/simulator/main.js', '0'],
      {},
      /GATEWAY_PROV_A_URL=(\S+)[\s\S]*GATEWAY_PROV_D_URL=\S+/,
    );
    const upstream = simulator.found[1];
    const bare = await start(['bench/bare.mjs', upstream], {}, /http:\S+/);
    const gateway = await start(
      ['dist/server/main.js'],
      {
        GATEWAY_DATA_DIR: dataDir,
        GATEWAY_PORT: '0',
        GATEWAY_PROXY_PORT: '0',
        GATEWAY_PROV_A_URL: upstream,
        GATEWAY_LOG_LEVEL: 'error',
      },
      /API\s+(http:\S+)\/v1[\s\S]*proxy\s+(http:\/\/[^/]+)[\s\S]*data/,
    );
    const [, base, proxy] = gateway.found;
    const { token } = await api(base, 'POST', '/v1/auth/signup', null, {
      name: 'bench',
      email: 'bench@example.com',
      password: 'bench bench',
    });
    await api(base, 'POST', '/v1/provider-keys', token, { provider: 'prov_a', key: 'sk-upstream' });
    const { key } = await api(base, 'POST', '/v1/api-keys', token, { name: 'bench' });

    const body = JSON.stringify({
      model: 'gpt-4o-mini',
      max_tokens: 64,
      messages: [{ role: 'user', content: 'Say hello in one short sentence, please.' }],
    });
    const traffic = {
      path: '/v1/proxy/prov_a/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      body,
      connections: CONNECTIONS,
    };
    for (const url of [bare.found[0], proxy]) await load({ ...traffic, url, count: 2000 });
    let sent = 2000;
    await untilLedgerHolds(base, token, sent);

    const rounds = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const bareBefore = cpuNs(bare.pid);
      const bareRun = await load({ ...traffic, url: bare.found[0], count: REQUESTS_PER_ROUND });
      const bareNs = cpuNs(bare.pid) - bareBefore;

      const [gatewayBefore, databaseBefore] = [cpuNs(gateway.pid), postgresNs(gateway.pid)];
      const gatewayRun = await load({ ...traffic, url: proxy, count: REQUESTS_PER_ROUND });
      sent += REQUESTS_PER_ROUND;
      await untilLedgerHolds(base, token, sent);
      rounds.push({
        bare: bareNs / 1000 / REQUESTS_PER_ROUND,
        gateway: (cpuNs(gateway.pid) - gatewayBefore) / 1000 / REQUESTS_PER_ROUND,
        database: (postgresNs(gateway.pid) - databaseBefore) / 1000 / REQUESTS_PER_ROUND,
        bareRun,
        gatewayRun,
      });
      const { bare: b, gateway: g, database: d } = rounds.at(-1);
      console.log(
        `round ${round + 1}: bare ${b.toFixed(0)} µs, gateway ${g.toFixed(0)} µs (${(g / b).toFixed(2)} ×), PostgreSQL ${d.toFixed(0)} µs`,
      );
    }

    const median = (pick) => percentile(rounds.map(pick), 0.5);
    const ratio = percentile(
      rounds.map((round) => round.gateway / round.bare),
      0.5,
    );
    const latency = (pick, share) =>
      percentile(
        rounds.flatMap((round) => pick(round).latencies),
        share,
      ).toFixed(2);
    console.log(
      `\nCPU per request, median of ${ROUNDS} interleaved rounds of ${REQUESTS_PER_ROUND}, ${CONNECTIONS} connections:`,
    );
    console.log(`  bare pass-through   ${median((r) => r.bare).toFixed(1)} µs`);
    console.log(
      `  metered gateway     ${median((r) => r.gateway).toFixed(1)} µs   ${ratio.toFixed(2)} × bare (aim: at most ${AIM} ×)`,
    );
    console.log(`  its PostgreSQL      ${median((r) => r.database).toFixed(1)} µs   (a process of its own)`);
    console.log(
      `Latency under that load: bare p50 ${latency((r) => r.bareRun, 0.5)} ms, p99 ${latency((r) => r.bareRun, 0.99)} ms; gateway p50 ${latency((r) => r.gatewayRun, 0.5)} ms, p99 ${latency((r) => r.gatewayRun, 0.99)} ms`,
    );

    const good = sum(rounds.map((round) => round.gatewayRun.good));
    const verified = await api(base, 'GET', '/v1/ledger/verify', token);
    const inLedger = await ledgerCount(base, token);
    console.log(
      `Ledger: ${sent} sent, ${inLedger} recorded, chain ${verified.valid ? 'valid' : 'BROKEN'}, ${verified.records_checked} checked`,
    );
    if (good !== ROUNDS * REQUESTS_PER_ROUND || inLedger !== sent || !verified.valid)
      throw new Error('the ledger does not hold exactly what was sent');
  } finally {
    for (const child of children) child.removeAllListeners('exit').kill('SIGTERM');
    await Promise.all(
      children.map(
        (child) =>
          child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.once('exit', resolve)),
      ),
    );
    rmSync(dataDir, { recursive: true, force: true });
  }
}
await main();
