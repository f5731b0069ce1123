import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkPlanUsage } from '../../src/server/jobs/plan-usage.ts';
import { checkQuotas } from '../../src/server/jobs/quotas.ts';
import type { JobParts } from '../../src/server/jobs/task.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { recordRequests } from '../api/recorded-requests.ts';
import { type Gateway, startGateway } from '../harness.ts';

const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 6, 16, 12);

let gw: Gateway;
let database: Database;
let token: string;
let tenantId: string;
let nowMs = NOON;
let check: () => Promise<void>;
let checkPlans: () => Promise<void>;
beforeAll(async () => {
  // No worker here: the checks run when a test says so, and at no other time.
  gw = await startGateway({ nowMs: () => nowMs, env: { GATEWAY_ROLE: 'api' } });
  database = openDatabase({ url: gw.databaseUrl, name: 'test', connections: 3, onIdleError: () => {} });
  const parts = { database, nowMs: () => nowMs } as unknown as JobParts;
  check = () => checkQuotas(parts)({});
  checkPlans = () => checkPlanUsage(parts)({});
});
afterAll(async () => {
  await database.close();
  await gw.stop();
});
beforeEach(async () => {
  nowMs = NOON;
  ({ token, tenantId } = await gw.signUp());
});

const made = async (body: Record<string, unknown> = {}) => {
  const { status, json } = await gw.call('POST', '/v1/spend-quotas', {
    token,
    body: { dimension_type: 'tenant_total', period: 'month', limit_microdollars: 1_000, ...body },
  });
  expect(status).toBe(201);
  return json;
};
const change = (id: string, body: unknown) => gw.call('PUT', `/v1/spend-quotas/${id}`, { token, body });
const spend = (microdollars: number, by: object = {}) =>
  recordRequests(gw, tenantId, [
    { created_at: new Date(nowMs).toISOString(), cost_microdollars: microdollars, ...by },
  ]);
const alerts = () =>
  gw.sql<{ alert_type: string; severity: string; title: string; metadata: Record<string, unknown> }>(
    'select alert_type, severity, title, metadata from alerts where tenant_id = $1 order by id',
    [tenantId],
  );
const percentOf = (metadata: Record<string, unknown>) => Math.round(Number(metadata.threshold) * 100);
const told = async () => (await alerts()).map(({ metadata }) => percentOf(metadata));

describe('a spend quota', () => {
  it('tells each threshold once per period, with what is spent and of what', async () => {
    const quota = await made();
    await check();
    await spend(400);
    await check();
    expect(await told()).toEqual([]);
    await spend(100);
    await check();
    expect(await alerts()).toEqual([
      {
        alert_type: 'budget_threshold',
        severity: 'info',
        title: '50% of the spend quota for the whole account is used: $0.0005 of $0.001 this month',
        metadata: {
          quota_id: quota.id,
          threshold: 0.5,
          dimension_type: 'tenant_total',
          dimension_value: '',
          period_start: '2026-07-01T00:00:00.000Z',
          spend_microdollars: 500,
          spend_usd: '0.000500',
          limit_microdollars: 1_000,
          limit_usd: '0.001000',
        },
      },
    ]);
    await check();
    await spend(1);
    await check();
    expect(await told()).toEqual([50]);
    await spend(600);
    await check();
    expect(await told()).toEqual([50, 80, 100]);
    expect((await alerts()).map(({ severity }) => severity)).toEqual(['info', 'warning', 'critical']);
    nowMs += 31 * DAY_MS;
    await check();
    expect(await told()).toEqual([50, 80, 100]);
    await spend(900);
    await check();
    expect(await told()).toEqual([50, 80, 100, 50, 80]);
    const [{ count }] = (await gw.sql('select count(*)::int from events where tenant_id = $1', [
      tenantId,
    ])) as [{ count: number }];
    expect(count).toBe(5);
  });

  it('made above its thresholds tells the highest alone', async () => {
    await spend(900);
    await made();
    await check();
    expect(await told()).toEqual([80]);
    await spend(200);
    await check();
    expect(await told()).toEqual([80, 100]);
  });

  it('made above its thresholds tells thresholds of more than a hundred percent too', async () => {
    await spend(5_000);
    await made({ alert_thresholds: [100, 400, 700] });
    await check();
    expect(await told()).toEqual([400]);
  });

  it('is looked at again when its limit or thresholds change, and tells nothing twice', async () => {
    const { id } = await made();
    await spend(600);
    await check();
    await check();
    expect(await told()).toEqual([50]);
    await change(id, { limit_microdollars: 700 });
    await check();
    expect(await told()).toEqual([50, 80]);
    await change(id, { limit_microdollars: 600 });
    await check();
    await change(id, { limit_microdollars: 100_000 });
    await check();
    await change(id, { limit_microdollars: 600, alert_thresholds: [80, 90, 100] });
    await check();
    expect(await told()).toEqual([50, 80, 100]);
  });

  it('says nothing while it is off, and of what it missed only the highest', async () => {
    const { id } = await made();
    await check();
    await change(id, { enabled: false });
    await spend(850);
    await check();
    expect(await told()).toEqual([]);
    await change(id, { enabled: true });
    await check();
    expect(await told()).toEqual([80]);
    await change(id, { enabled: false });
    await change(id, { enabled: true });
    await check();
    expect(await told()).toEqual([80]);
  });

  it('counts its own dimension and period and no other', async () => {
    const team = (await gw.call('POST', '/v1/teams', { token, body: { name: 'Research' } })).json;
    const quotas = {
      model: await made({ dimension_type: 'model', dimension_value: 'gpt-5-mini' }),
      team: await made({ dimension_type: 'team', dimension_value: team.id }),
      service: await made({ dimension_type: 'service', dimension_value: 'chat' }),
      customer: await made({ dimension_type: 'end_customer', dimension_value: 'acme' }),
      day: await made({ period: 'day', limit_microdollars: 100_000 }),
      week: await made({ period: 'week', limit_microdollars: 100_000 }),
    };
    await check();
    const toldOf = async () =>
      (await alerts()).map(({ metadata }) => [metadata.quota_id, percentOf(metadata)]);
    await spend(500, { model_id: 'gpt-5-mini', end_customer: 'other' });
    await check();
    expect(await toldOf()).toEqual([[quotas.model.id, 50]]);
    await spend(500, { team_id: team.id, team_slug: team.slug, service_name: 'other' });
    await check();
    expect((await toldOf()).slice(1)).toEqual([[quotas.team.id, 50]]);
    expect((await alerts())[1]!.title).toContain('team Research');
    await spend(500, { service_name: 'chat' });
    await check();
    expect((await toldOf()).slice(2)).toEqual([[quotas.service.id, 50]]);
    await spend(500, { end_customer: 'acme' });
    await check();
    expect((await toldOf()).slice(3)).toEqual([[quotas.customer.id, 50]]);
    nowMs -= DAY_MS;
    await spend(49_000);
    nowMs += DAY_MS;
    await check();
    expect((await toldOf()).slice(4)).toEqual([[quotas.week.id, 50]]);
  });

  it('tells once when two nodes look at once', async () => {
    await made();
    await check();
    await spend(1_000);
    await Promise.all([check(), check(), check()]);
    await check();
    expect(await told()).toEqual([50, 80, 100]);
  });

  it('of another or a closed account is not told here', async () => {
    await made();
    await check();
    const other = await gw.signUp();
    await spend(1_000);
    await gw.call('DELETE', '/v1/account', { token });
    await check();
    expect(await told()).toEqual([]);
    expect(await gw.sql('select from alerts where tenant_id = $1', [other.tenantId])).toEqual([]);
  });

  it('is left alone while its tenant spends nothing', async () => {
    const { id } = await made();
    await spend(10);
    await check();
    const version = async () =>
      (await gw.sql('select xmin::text from spend_quotas where id = $1', [id]))[0]!.xmin;
    const before = await version();
    await check();
    expect(await version()).toBe(before);
  });

  it('is checked with any number of others', async () => {
    await gw.sql(
      `insert into spend_quotas (tenant_id, id, dimension_type, dimension_value, period, limit_microdollars,
                                 alert_thresholds, enabled, created_at, updated_at)
       select $1, gen_random_uuid(), 'tenant_total', '', 'day', 10, '{100}', true, now(), now()
         from generate_series(1, 450)`,
      [tenantId],
    );
    await spend(10);
    await check();
    expect(await told()).toHaveLength(450);
  });
});

describe('the plan', () => {
  it('tells at 80 and at 100 percent of its included requests, once a month', async () => {
    await gw.sql('update tenants set included_requests = 5 where tenant_id = $1', [tenantId]);
    const request = () => spend(1);
    for (let count = 0; count < 3; count++) await request();
    await checkPlans();
    expect(await told()).toEqual([]);
    await request();
    await checkPlans();
    await checkPlans();
    expect(await alerts()).toEqual([
      {
        alert_type: 'budget_threshold',
        severity: 'warning',
        title: '80% of the requests included in the free plan are used: 4 of 5 this month; traffic goes on',
        metadata: {
          plan_tier: 'free',
          threshold: 0.8,
          included_requests: 5,
          used_requests: 4,
          month: '2026-07-01',
        },
      },
    ]);
    await request();
    await request();
    await Promise.all([checkPlans(), checkPlans()]);
    expect(await told()).toEqual([80, 100]);
    const { json } = await gw.call('GET', '/v1/account', { token });
    expect(json.subscription).toMatchObject({ included_requests: 5, used_requests: 6 });
    nowMs += 31 * DAY_MS;
    await checkPlans();
    expect(await told()).toEqual([80, 100]);
    for (let count = 0; count < 5; count++) await request();
    await checkPlans();
    expect(await told()).toEqual([80, 100, 80, 100]);
  });

  it('that includes nothing has nothing to tell', async () => {
    await gw.sql('update tenants set included_requests = 0 where tenant_id = $1', [tenantId]);
    await spend(1);
    await checkPlans();
    expect(await told()).toEqual([]);
  });
});
