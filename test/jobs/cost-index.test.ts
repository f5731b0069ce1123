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

/** All of them before anything is built. */
async function shareAll(tenants: readonly SignedUp[]): Promise<void> {
  await gw.sql('update tenants set data_share_enabled = true where tenant_id = any ($1)', [
    tenants.map(({ tenantId }) => tenantId),
  ]);
  await runJob(gw, 'build_cost_index');
}

const index = async (query = '') => (await gw.call('GET', `/v1/public/cost-index${query}`)).json.data;
const bucketOf = async (day: string) => (await index()).find(({ date }: { date: string }) => date === day);

async function freshTenants(count: number): Promise<SignedUp[]> {
  await gw.sql('update tenants set data_share_enabled = false');
  await runJob(gw, 'build_cost_index');
  expect(await index()).toEqual([]);
  const tenants: SignedUp[] = [];
  for (let number = 0; number < count; number++) tenants.push(await gw.signUp());
  return tenants;
}

describe('the cost index', () => {
  it.each([
    [2, undefined],
    [3, 3],
    [4, 4],
  ])('of %i tenants that share has a bucket of %s', async (count, shown) => {
    const tenants = await freshTenants(5);
    const costs = [100, 100, 1_000, 1_000, 50_000];
    for (const tenant of tenants) await traffic(tenant, NOON - 3 * 3_600_000, costs);
    await shareAll(tenants.slice(0, count));
    const bucket = await bucketOf('2026-06-10');
    expect(bucket?.tenant_count).toBe(shown);
    if (shown === undefined) return;
    expect(bucket).toEqual({
      date: '2026-06-10',
      provider: 'prov_a',
      model_id: 'gpt-5',
      model_family: 'gpt-5',
      avg_cost_usd: '0.010440',
      p50_cost_usd: '0.001000',
      p95_cost_usd: '0.050000',
      total_requests: 5 * count,
      tenant_count: count,
    });
  });

  it('is left by a tenant that opts out at once', async () => {
    const tenants = await freshTenants(4);
    for (const tenant of tenants) await traffic(tenant, NOON - 3_600_000, [100, 200, 300]);
    await shareAll(tenants);
    expect((await bucketOf('2026-06-10')).tenant_count).toBe(4);
    await share(tenants[0]!, false);
    expect(await bucketOf('2026-06-10')).toBeUndefined();
    await jobsDone(gw, 'build_cost_index');
    for (const table of ['cost_index_hours', 'cost_index_grouped']) {
      expect(await gw.sql(`select from ${table} where tenant_id = $1`, [tenants[0]!.tenantId])).toEqual([]);
    }
    expect(await gw.sql('select from cost_index_groups')).toEqual([]);
  });

  it('counts only what a sharing tenant’s production traffic really cost', async () => {
    const tenants = await freshTenants(3);
    for (const tenant of tenants) {
      await traffic(tenant, NOON - 2 * 3_600_000, [500]);
      await traffic(tenant, NOON - 2 * 3_600_000, [9_000], { status_code: 500 });
      await traffic(tenant, NOON - 2 * 3_600_000, [9_000], { environment: 'test' });
      await traffic(tenant, NOON - 2 * 3_600_000, [9_000], { cost_status: 'unpriced', price_id: null });
      await traffic(tenant, NOON - DAY, [9_000]);
    }
    await shareAll(tenants);
    expect(await bucketOf('2026-06-10')).toMatchObject({ total_requests: 3, avg_cost_usd: '0.000500' });
    expect(await bucketOf('2026-06-09')).toBeUndefined();
  });

  it('takes in what came after the last build', async () => {
    const tenants = await freshTenants(3);
    for (const tenant of tenants) await traffic(tenant, NOON - 60_000, [500]);
    await shareAll(tenants);
    for (const tenant of tenants) await traffic(tenant, NOON - 30_000, [700]);
    await runJob(gw, 'build_cost_index');
    expect(await bucketOf('2026-06-10')).toMatchObject({ total_requests: 6, avg_cost_usd: '0.000600' });
  });

  it('closes a day for good half an hour after its end: who joins later changes nothing, who leaves takes it along', async () => {
    const tenants = await freshTenants(5);
    nowMs = NOON + 10 * DAY;
    try {
      for (const tenant of tenants) await traffic(tenant, nowMs, [100, 400]);
      await shareAll(tenants.slice(0, 4));
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

  it('is left by an account that is closed', async () => {
    const tenants = await freshTenants(3);
    for (const tenant of tenants) await traffic(tenant, NOON - 60_000, [500]);
    await shareAll(tenants);
    expect(await bucketOf('2026-06-10')).toBeDefined();
    await gw.call('DELETE', '/v1/account', { token: tenants[0]!.token });
    expect(await bucketOf('2026-06-10')).toBeUndefined();
  });

  it('is left by a tenant that the operator shuts', async () => {
    const tenants = await freshTenants(3);
    for (const tenant of tenants) await traffic(tenant, NOON - 60_000, [500]);
    await shareAll(tenants);
    expect(await bucketOf('2026-06-10')).toBeDefined();
    const path = `/v1/operator/tenants/${tenants[0]!.tenantId}`;
    await gw.call('PUT', path, { token: gw.operatorToken, body: { status: 'cancelled' } });
    expect(await bucketOf('2026-06-10')).toBeUndefined();
  });
});
