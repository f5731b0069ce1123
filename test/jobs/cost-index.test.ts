import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RecordedRequest, recordRequests } from '../api/recorded-requests.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { jobsDone, runJob } from './run-job.ts';

const NOON = Date.parse('2026-06-10T12:00:00Z');
const DAY = 86_400_000;

let gw: Gateway;
let nowMs = NOON;
let priceId: string;
beforeAll(async () => {
  gw = await startGateway({ nowMs: () => nowMs });
  const rows = await gw.sql<{ id: string }>(
    "select prices.id from prices join models on models.id = prices.model where model_id = 'gpt-5'",
  );
  priceId = rows[0]!.id;
});
afterAll(() => gw.stop());

async function share(tenant: SignedUp, enabled: boolean): Promise<void> {
  // A log-in of its own: the clock of these tests jumps further than a token lives.
  const login = await gw.call('POST', '/v1/auth/login', {
    body: { email: tenant.email, password: tenant.password },
  });
  const answer = await gw.call('PUT', '/v1/account/settings/data-share', {
    token: login.json.token,
    body: { enabled },
  });
  expect(answer.json.data_share_enabled).toBe(enabled);
}

/** Requests of one cost each, a minute apart, from the start of the hour. */
async function traffic(
  tenant: SignedUp,
  atMs: number,
  costs: readonly number[],
  more: Partial<RecordedRequest> = {},
): Promise<void> {
  const requests = costs.map((cost_microdollars, index) => ({
    cost_microdollars,
    price_id: priceId,
    ...more,
    created_at: new Date(atMs + index * 1_000).toISOString(),
  }));
  await recordRequests(gw, tenant.tenantId, requests);
}

const index = async (query = '') => (await gw.call('GET', `/v1/public/cost-index${query}`)).json.data;
const bucketOf = async (day: string) => (await index()).find(({ date }: { date: string }) => date === day);

async function freshTenants(count: number): Promise<SignedUp[]> {
  await gw.sql('update tenants set data_share_enabled = false');
  await runJob(gw, 'build_cost_index');
  const tenants: SignedUp[] = [];
  for (let number = 0; number < count; number++) tenants.push(await gw.signUp());
  return tenants;
}

describe('the cost index', () => {
  it('has no bucket of two tenants, one of three, and all four of four', async () => {
    const tenants = await freshTenants(5);
    const costs = [100, 100, 1_000, 1_000, 50_000];
    for (const tenant of tenants) await traffic(tenant, NOON - 3 * 3_600_000, costs);
    const shown: unknown[] = [];
    for (const tenant of tenants.slice(0, 4)) {
      await share(tenant, true);
      await jobsDone(gw, 'build_cost_index');
      shown.push((await bucketOf('2026-06-10'))?.tenant_count);
    }
    expect(shown).toEqual([undefined, undefined, 3, 4]);
    expect(await bucketOf('2026-06-10')).toEqual({
      date: '2026-06-10',
      provider: 'prov_a',
      model_id: 'gpt-5',
      model_family: 'gpt-5',
      avg_cost_usd: '0.010440',
      p50_cost_usd: '0.001000',
      p95_cost_usd: '0.050000',
      total_requests: 20,
      tenant_count: 4,
    });
  });

  it('is left by a tenant that opts out at once, and has no bucket that would then be too small', async () => {
    const tenants = await freshTenants(4);
    for (const tenant of tenants) await traffic(tenant, NOON - 3_600_000, [100, 200, 300]);
    for (const tenant of tenants) await share(tenant, true);
    await jobsDone(gw, 'build_cost_index');
    expect((await bucketOf('2026-06-10')).tenant_count).toBe(4);
    await share(tenants[0]!, false);
    // With the answer already: whatever is shown now is not of four tenants any more.
    expect((await bucketOf('2026-06-10'))?.tenant_count ?? 3).toBe(3);
    await jobsDone(gw, 'build_cost_index');
    expect(await bucketOf('2026-06-10')).toMatchObject({ tenant_count: 3, total_requests: 9 });
    await share(tenants[1]!, false);
    expect(await bucketOf('2026-06-10')).toBeUndefined();
    await jobsDone(gw, 'build_cost_index');
    expect(await bucketOf('2026-06-10')).toBeUndefined();
    const left = await gw.sql('select from cost_index_hours where tenant_id = any($1)', [
      tenants.slice(0, 2).map(({ tenantId }) => tenantId),
    ]);
    expect(left).toEqual([]);
  });

  it('counts only what a sharing tenant’s production traffic really cost', async () => {
    const tenants = await freshTenants(3);
    for (const tenant of tenants) {
      await traffic(tenant, NOON - 2 * 3_600_000, [500]);
      await traffic(tenant, NOON - 2 * 3_600_000, [9_000], { status_code: 500 });
      await traffic(tenant, NOON - 2 * 3_600_000, [9_000], { environment: 'test' });
      await traffic(tenant, NOON - 2 * 3_600_000, [9_000], { cost_status: 'unpriced', price_id: null });
      await traffic(tenant, NOON - DAY, [9_000]);
      await share(tenant, true);
    }
    await jobsDone(gw, 'build_cost_index');
    expect(await bucketOf('2026-06-10')).toMatchObject({ total_requests: 3, avg_cost_usd: '0.000500' });
    expect(await bucketOf('2026-06-09')).toBeUndefined();
  });

  it('takes in what came after the last build', async () => {
    const tenants = await freshTenants(3);
    for (const tenant of tenants) {
      await traffic(tenant, NOON - 60_000, [500]);
      await share(tenant, true);
    }
    await jobsDone(gw, 'build_cost_index');
    for (const tenant of tenants) await traffic(tenant, NOON - 30_000, [700]);
    await runJob(gw, 'build_cost_index');
    expect(await bucketOf('2026-06-10')).toMatchObject({ total_requests: 6, avg_cost_usd: '0.000600' });
  });

  it('closes a day for good half an hour after its end: who joins later changes nothing, who leaves takes it along', async () => {
    const tenants = await freshTenants(5);
    nowMs = NOON + 10 * DAY;
    try {
      for (const tenant of tenants) await traffic(tenant, nowMs, [100, 400]);
      for (const tenant of tenants.slice(0, 4)) await share(tenant, true);
      await jobsDone(gw, 'build_cost_index');
      // The last minute of the day, seen by no build of that day.
      for (const tenant of tenants.slice(0, 4))
        await traffic(tenant, Date.parse('2026-06-20T23:59:30Z'), [1_000]);
      nowMs = Date.parse('2026-06-21T00:10:00Z');
      await runJob(gw, 'build_cost_index');
      expect(await bucketOf('2026-06-20')).toMatchObject({ total_requests: 8, tenant_count: 4 });
      nowMs = Date.parse('2026-06-21T00:30:00Z');
      await runJob(gw, 'build_cost_index');
      const closed = await bucketOf('2026-06-20');
      expect(closed).toMatchObject({ total_requests: 12, tenant_count: 4, avg_cost_usd: '0.000500' });
      await share(tenants[4]!, true);
      for (const tenant of tenants) await traffic(tenant, Date.parse('2026-06-20T13:00:00Z'), [7_777]);
      await runJob(gw, 'build_cost_index');
      expect(await bucketOf('2026-06-20')).toEqual(closed);
      await share(tenants[0]!, false);
      await runJob(gw, 'build_cost_index');
      // Shown again without it, the difference would be what it had been.
      expect(await bucketOf('2026-06-20')).toBeUndefined();
      await share(tenants[0]!, true);
      await runJob(gw, 'build_cost_index');
      expect(await bucketOf('2026-06-20')).toBeUndefined();
    } finally {
      nowMs = NOON;
    }
  });

  it('shows a closed day again without a tenant that left, where ten or more remain', async () => {
    const tenants = await freshTenants(11);
    nowMs = NOON + 20 * DAY;
    try {
      for (const tenant of tenants) await traffic(tenant, nowMs, [100]);
      for (const tenant of tenants) await share(tenant, true);
      await jobsDone(gw, 'build_cost_index');
      nowMs += DAY;
      await runJob(gw, 'build_cost_index');
      expect(await bucketOf('2026-06-30')).toMatchObject({ tenant_count: 11 });
      await share(tenants[0]!, false);
      expect(await bucketOf('2026-06-30')).toBeUndefined();
      await jobsDone(gw, 'build_cost_index');
      expect(await bucketOf('2026-06-30')).toMatchObject({ tenant_count: 10, total_requests: 10 });
    } finally {
      nowMs = NOON;
    }
  });

  it('is left by an account that is closed', async () => {
    const tenants = await freshTenants(3);
    for (const tenant of tenants) {
      await traffic(tenant, NOON - 60_000, [500]);
      await share(tenant, true);
    }
    await jobsDone(gw, 'build_cost_index');
    expect(await bucketOf('2026-06-10')).toBeDefined();
    await gw.call('DELETE', '/v1/account', { token: tenants[0]!.token });
    expect(await bucketOf('2026-06-10')).toBeUndefined();
  });
});
