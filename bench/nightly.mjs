// What the nightly analysis of a million requests does to calls that pass the proxy while it runs: the same steady
// traffic with and without it, in turns, on one server.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../dist/server/adapters/embedded-postgres.js';
import { createLogger } from '../dist/server/adapters/log.js';
import { cpuNs, postgresNs } from './cpu.mjs';
import { sendSteadily } from './load.mjs';
import { seedMonth } from './month.mjs';
import { api, CALL, onboard, percentile, startGateway, startSimulator, stopAll } from './programs.mjs';

const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 1_000_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const CALLS_PER_SECOND = Number(process.env.BENCH_RATE ?? 100);
const WARM_UP_MS = 10_000;
const QUIET_MS = 20_000;
const AIM_MS = 60_000;
const TENANTS = 5;

const elapsed = async (work) => {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
};
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
const milliseconds = (numbers, share) => `${percentile(numbers, share).toFixed(2).padStart(8)} ms`;

async function startAll(dataDir) {
  const postgres = await startEmbeddedPostgres({ dataDir, log: createLogger('error') });
  const upstream = await startSimulator();
  const operatorToken = randomBytes(32).toString('hex');
  const { gateway, base, proxy } = await startGateway(join(dataDir, 'node'), upstream, {
    DATABASE_URL: postgres.connectionString,
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    GATEWAY_JWT_SECRET: randomBytes(32).toString('hex'),
    GATEWAY_LEDGER_SECRET: randomBytes(32).toString('hex'),
    GATEWAY_OPERATOR_TOKEN: operatorToken,
    GATEWAY_RATE_SIGNUP: '0',
  });
  const client = new pg.Client({ connectionString: postgres.connectionString });
  await client.connect();
  await client.query(`set search_path = gateway; set gateway.tenant_id = 'system'`);
  return { postgres, client, operatorToken, gateway, base, proxy };
}

/** As on the first night: nothing is summed yet. Answers how long the analysis took, by its own record. */
async function analyse({ client, base, operatorToken }) {
  await client.query('truncate savings_traits, savings_hours');
  await api(base, 'POST', '/v1/operator/jobs/compute_savings/run', operatorToken);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    const { rows } = await client.query(`
      select last_duration_ms, last_error, (select count(*) from savings_hours)::int as hours
        from job_runs
       where name = 'compute_savings' and last_finished_at > last_started_at
         and not exists (select from graphile_worker.jobs where task_identifier = 'compute_savings')`);
    if (rows[0]?.last_error) throw new Error(`the analysis failed: ${rows[0].last_error}`);
    if (rows[0]?.hours > 0) return rows[0].last_duration_ms;
  }
}

/** Traffic for a while, and the CPU that the gateway and its database took for it. */
async function observe({ gateway }, traffic, isOver) {
  const [startedMs, own, database] = [performance.now(), cpuNs(gateway.pid), postgresNs(process.pid)];
  const run = await sendSteadily({ ...traffic, isOver });
  return {
    ...run,
    seconds: (performance.now() - startedMs) / 1000,
    gatewayNs: cpuNs(gateway.pid) - own,
    databaseNs: postgresNs(process.pid) - database,
  };
}

async function runRound(programs, traffic) {
  const quietUntilMs = performance.now() + QUIET_MS;
  const quiet = await observe(programs, traffic, () => performance.now() >= quietUntilMs);
  let durationMs = null;
  const analysing = analyse(programs).then((ms) => {
    durationMs = ms;
  });
  const busy = await observe(programs, traffic, () => durationMs !== null);
  await analysing;
  return { quiet, busy, durationMs };
}

function print(rounds) {
  const all = (kind) => rounds.flatMap((round) => round[kind].latencies);
  console.log(
    `\nLatency of a call at ${CALLS_PER_SECOND} calls a second, over ${rounds.length} rounds, timed from when it was due:`,
  );
  for (const [name, latencies] of [
    ['without the analysis', all('quiet')],
    ['while it runs', all('busy')],
  ]) {
    const figures = [0.5, 0.9, 0.99, 1 - Number.EPSILON].map((share) => milliseconds(latencies, share));
    console.log(
      `  ${name.padEnd(22)} p50 ${figures[0]}   p90 ${figures[1]}   p99 ${figures[2]}   most ${figures[3]}   (${latencies.length} calls)`,
    );
  }
  const total = (kind, field) => rounds.reduce((sum, round) => sum + round[kind][field], 0);
  const perCall = (kind) => (total(kind, 'gatewayNs') / all(kind).length / 1e6).toFixed(2);
  const busyShare = (kind) => total(kind, 'databaseNs') / 1e9 / total(kind, 'seconds');
  console.log(
    `CPU of the gateway for a call: ${perCall('quiet')} ms without, ${perCall('busy')} ms while the analysis runs`,
  );
  const analysisCpu = (busyShare('busy') - busyShare('quiet')) * (total('busy', 'seconds') / rounds.length);
  const durations = rounds.map((round) => round.durationMs);
  console.log(
    `Analysis of ${REQUESTS.toLocaleString('en-US')} requests: ${durations.map(seconds).join(', ')} (aim: under ${seconds(AIM_MS)}), ` +
      `of one core ${analysisCpu.toFixed(1)} s, all in PostgreSQL`,
  );
  const failed = rounds
    .flatMap(({ quiet, busy }) => [quiet, busy])
    .some((run) => run.good !== run.latencies.length);
  if (failed || Math.max(...durations) > AIM_MS)
    throw new Error('a call failed, or the analysis took too long');
}

async function measure(running) {
  const { base, proxy, client } = running;
  const tenants = [];
  for (let place = 1; place <= TENANTS; place += 1) tenants.push(await onboard(base, `bench${place}`));
  const seeding = await elapsed(() =>
    seedMonth(
      client,
      tenants.map((tenant) => tenant.tenantId),
      REQUESTS,
    ),
  );
  console.log(`seeded ${REQUESTS.toLocaleString('en-US')} requests of a month in ${seconds(seeding)}`);
  const headers = { authorization: `Bearer ${tenants[0].key}` };
  const traffic = { ...CALL, url: proxy, headers, perSecond: CALLS_PER_SECOND };
  const warmUntilMs = performance.now() + WARM_UP_MS;
  await sendSteadily({ ...traffic, isOver: () => performance.now() >= warmUntilMs });
  const rounds = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    rounds.push(await runRound(running, traffic));
    const { quiet, busy, durationMs } = rounds.at(-1);
    console.log(
      `round ${round}: without p50 ${milliseconds(quiet.latencies, 0.5)}, p99 ${milliseconds(quiet.latencies, 0.99)}; ` +
        `with p50 ${milliseconds(busy.latencies, 0.5)}, p99 ${milliseconds(busy.latencies, 0.99)}; analysis ${seconds(durationMs)}`,
    );
  }
  print(rounds);
}

const dataDir = mkdtempSync(join(tmpdir(), 'gateway-nightly-'));
let running = null;
// The database is in a session of its own, which Ctrl-C does not reach.
const interrupted = new Promise((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Error('interrupted')));
});
try {
  running = await startAll(dataDir);
  await Promise.race([measure(running), interrupted]);
} finally {
  await stopAll();
  await running?.client.end().catch(() => {});
  await running?.postgres.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
