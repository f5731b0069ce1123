// CPU per request of the metered gateway beside a bare pass-through of the same traffic, in one interleaved run,
// and a check that the ledger holds exactly what was sent.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuNs, postgresNs } from './cpu.mjs';
import { load } from './load.mjs';
import {
  api,
  CALL,
  ledgerCount,
  onboard,
  percentile,
  start,
  startGateway,
  startSimulator,
  stopAll,
  untilLedgerHolds,
} from './programs.mjs';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 8);
const REQUESTS_PER_ROUND = Number(process.env.BENCH_REQUESTS ?? 3000);
/** Until the compiler has settled on both sides. */
const WARM_UP_REQUESTS = 20_000;
const CONNECTIONS = 32;
const AIM = 1.6;

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The three programs under test, started and warm. */
async function startAll(dataDir) {
  const upstream = await startSimulator();
  const bare = await start(['bench/bare.mjs', upstream], {}, /http:\S+/);
  const { gateway, base, proxy } = await startGateway(dataDir, upstream);
  const { token, key } = await onboard(base, 'bench');
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

const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
try {
  const programs = await startAll(dataDir);
  const headers = { authorization: `Bearer ${programs.key}` };
  const traffic = { ...CALL, headers, connections: CONNECTIONS };
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
