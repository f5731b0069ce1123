import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../server/adapters/log.ts';
import { detectAnomalies } from '../server/jobs/anomalies.ts';
import { buildCostIndex } from '../server/jobs/cost-index.ts';
import type { Database } from '../server/store/database.ts';
import { type Asking, granted } from './asking.ts';
import { DAY_MS, HISTORY_DAYS } from './history.ts';

const JOB_LIMIT_MS = 120_000;
const LOOK_MS = 100;
/** After midnight, when the day before is closed. */
const CLOSING_MS = 40 * 60_000;

/** An anomaly is found within the hour that has it or the next; so is one of some days ago, as of then. */
export async function detectAnomaliesAsOf(
  { database, log }: { database: Database; log: Logger },
  atMs: number,
): Promise<void> {
  await detectAnomalies({ database, log, nowMs: () => atMs })({});
}

/**
 * Every night of the month closes the public index of the day before. Today and yesterday have been built by the
 * gateway itself; what the last of these nights leaves open, its next build closes.
 */
export async function buildPastCostIndex(
  database: Database,
  operator: Asking,
  nowMs: number,
  signal: AbortSignal,
): Promise<void> {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  for (let day = today - (HISTORY_DAYS - 1) * DAY_MS; day < today - DAY_MS; day += DAY_MS) {
    if (signal.aborted) return;
    await buildCostIndex({ database, nowMs: () => day + CLOSING_MS })({});
  }
  await runJobs(operator, ['build_cost_index'], signal);
}

/** Runs jobs as an operator does, all at once, and waits until they are done. */
export async function runJobs(
  operator: Asking,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const before = await finishedAt(operator);
  for (const name of names) granted(name, await operator.call('runJob', { params: { name } }));
  const endMs = performance.now() + JOB_LIMIT_MS;
  for (;;) {
    const now = await finishedAt(operator);
    if (names.every((name) => now.get(name) !== null && now.get(name) !== before.get(name))) return;
    if (performance.now() > endMs) throw new Error(`the jobs ${names.join(', ')} do not come to an end`);
    await sleep(LOOK_MS, undefined, { signal });
  }
}

async function finishedAt(operator: Asking): Promise<Map<string, string | null>> {
  const health = granted('the health', await operator.call('getPlatformHealth'));
  return new Map(health.jobs.map((job) => [job.name, job.last_finished_at]));
}

/** What whoever runs the gateway did: another plan, and prices that change. */
export async function operate(
  operator: Asking,
  tenant: { tenantId: string; asking: Asking },
  nowMs: number,
): Promise<void> {
  const plan = {
    plan_tier: 'team',
    included_requests: 100_000,
    notes: 'Pilot since last month; renews in Q1.',
  };
  granted('a plan', await operator.call('updateTenant', { params: { id: tenant.tenantId }, body: plan }));
  const announce = async (body: {
    provider: 'prov_b' | 'prov_c';
    model_id: string;
    effective_at: string;
    pricing_input_per_mtok: number;
    pricing_output_per_mtok: number;
    note: string;
  }) => granted('a price change', await operator.call('announcePriceChange', { body }));
  await announce({
    provider: 'prov_b',
    model_id: 'claude-sonnet-4-6',
    effective_at: new Date(nowMs + 9 * DAY_MS).toISOString(),
    pricing_input_per_mtok: 2.5,
    pricing_output_per_mtok: 12.5,
    note: 'Announced together with the next Sonnet.',
  });
  const settled = await announce({
    provider: 'prov_c',
    model_id: 'gemini-2.5-flash',
    effective_at: new Date(nowMs + 2 * DAY_MS).toISOString(),
    pricing_input_per_mtok: 0.25,
    pricing_output_per_mtok: 2.2,
    note: 'Older models become cheaper.',
  });
  await acknowledge(tenant.asking, settled.id);
}

/** Once it has come to the tenant, which takes a job. */
async function acknowledge(asking: Asking, changeId: string): Promise<void> {
  const endMs = performance.now() + JOB_LIMIT_MS;
  for (;;) {
    const answer = await asking.call('acknowledgePriceChange', { params: { id: changeId } });
    if (answer.ok) return;
    if (answer.status !== 404 || performance.now() > endMs) granted('noting a price change', answer);
    await sleep(LOOK_MS);
  }
}
