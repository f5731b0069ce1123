import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { recordRequests } from './recorded-requests.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** In the middle of a month, a week and a day. */
const NOON = Date.UTC(2026, 6, 16, 12);

let gw: Gateway;
let token: string;
let tenantId: string;
let nowMs = NOON;
beforeAll(async () => {
  gw = await startGateway({ nowMs: () => nowMs });
});
afterAll(() => gw.stop());
beforeEach(async () => {
  nowMs = NOON;
  ({ token, tenantId } = await gw.signUp());
});

const total = { dimension_type: 'tenant_total', period: 'month', limit_microdollars: 10_000_000 };
const create = (body: unknown, as = token) => gw.call('POST', '/v1/spend-quotas', { token: as, body });
const read = async (id: string) => (await gw.call('GET', `/v1/spend-quotas/${id}`, { token })).json;
const change = (id: string, body: unknown) => gw.call('PUT', `/v1/spend-quotas/${id}`, { token, body });
const list = async (as = token) => (await gw.call('GET', '/v1/spend-quotas', { token: as })).json;
const forecast = async (id: string) =>
  (await gw.call('GET', `/v1/spend-quotas/${id}/forecast`, { token })).json;
const made = async (body: Record<string, unknown> = {}) => {
  const answer = await create({ ...total, ...body });
  expect(answer.status).toBe(201);
  return answer.json;
};
const spend = (microdollars: number, atMs = nowMs, by: object = {}) =>
  recordRequests(gw, tenantId, [
    { created_at: new Date(atMs).toISOString(), cost_microdollars: microdollars, ...by },
  ]);
const team = async (name: string, as = token) =>
  (await gw.call('POST', '/v1/teams', { token: as, body: { name } })).json;

describe('a spend quota', () => {
  it('is created with defaults, listed newest first, read, changed and deleted', async () => {
    const quota = await made();
    expect(quota).toEqual({
      id: expect.any(String),
      dimension_type: 'tenant_total',
      dimension_value: '',
      period: 'month',
      limit_microdollars: 10_000_000,
      limit_usd: '10.000000',
      alert_thresholds: [50, 80, 100],
      enabled: true,
      created_at: new Date(NOON).toISOString(),
      updated_at: new Date(NOON).toISOString(),
    });
    const later = await made({ dimension_type: 'model', dimension_value: 'gpt-5', enabled: false });
    expect(later).toMatchObject({ dimension_value: 'gpt-5', enabled: false });
    expect(await list()).toEqual([later, quota]);
    expect(await read(quota.id)).toEqual(quota);
    nowMs += 1_000;
    const changed = await change(quota.id, { limit_microdollars: 5, alert_thresholds: [200, 10, 200] });
    expect(changed.json).toEqual({
      ...quota,
      limit_microdollars: 5,
      limit_usd: '0.000005',
      alert_thresholds: [10, 200],
      updated_at: new Date(nowMs).toISOString(),
    });
    expect((await change(quota.id, { enabled: false })).json).toMatchObject({
      enabled: false,
      limit_microdollars: 5,
      alert_thresholds: [10, 200],
    });
    const deleted = await gw.call('DELETE', `/v1/spend-quotas/${quota.id}`, { token });
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect(await list()).toEqual([later]);
    const audit = await gw.sql(
      "select action from audit_entries where tenant_id = $1 and resource_type = 'spend_quota' order by id",
      [tenantId],
    );
    expect(audit.map(({ action }) => action)).toEqual([
      'spend_quota.created',
      'spend_quota.created',
      'spend_quota.updated',
      'spend_quota.updated',
      'spend_quota.deleted',
    ]);
  });

  it.each([
    {},
    { ...total, dimension_type: 'agent' },
    { ...total, dimension_type: undefined },
    { ...total, dimension_value: 'all' },
    { ...total, dimension_type: 'model' },
    { ...total, dimension_type: 'service', dimension_value: ' ' },
    { ...total, dimension_type: 'end_customer', dimension_value: null },
    { ...total, dimension_type: 'team', dimension_value: 'nobody' },
    { ...total, dimension_type: 'service', dimension_value: 'a\u0000b' },
    { ...total, period: 'monthly' },
    { ...total, period: undefined },
    { ...total, limit_microdollars: 0 },
    { ...total, limit_microdollars: -5 },
    { ...total, limit_microdollars: 1.5 },
    { ...total, limit_microdollars: '10' },
    { ...total, limit_microdollars: 1e18 },
    { ...total, limit_microdollars: undefined },
    { ...total, alert_thresholds: [0] },
    { ...total, alert_thresholds: [1_001] },
    { ...total, alert_thresholds: [50.5] },
    { ...total, alert_thresholds: ['50'] },
    { ...total, alert_thresholds: 50 },
    { ...total, alert_thresholds: Array.from({ length: 21 }, (_, index) => index + 1) },
    { ...total, enabled: 'yes' },
  ])('is refused as %j', async (body) => {
    const answer = await create(body);
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_field']);
    expect(await list()).toEqual([]);
  });

  it.each([{ limit_microdollars: 0 }, { alert_thresholds: [0] }, { enabled: null }])(
    'is not changed to %j',
    async (body) => {
      const quota = await made();
      expect((await change(quota.id, body)).json.error).toBe('invalid_field');
      expect(await read(quota.id)).toEqual(quota);
    },
  );

  it('takes thresholds above a hundred percent, and none at all', async () => {
    expect((await made({ alert_thresholds: [1, 1_000] })).alert_thresholds).toEqual([1, 1_000]);
    expect((await made({ alert_thresholds: [] })).alert_thresholds).toEqual([]);
  });

  it('names a team by id, slug or name and keeps its id', async () => {
    const { id, slug } = await team('Research Lab');
    for (const dimension_value of [id, slug, 'Research Lab'])
      expect((await made({ dimension_type: 'team', dimension_value })).dimension_value).toBe(id);
  });

  it('is one of at most two hundred', async () => {
    await gw.sql(
      `insert into spend_quotas (tenant_id, id, dimension_type, dimension_value, period, limit_microdollars,
                                 alert_thresholds, enabled, created_at, updated_at)
       select $1, gen_random_uuid(), 'tenant_total', '', 'day', 1, '{}', false, now(), now()
         from generate_series(1, 199)`,
      [tenantId],
    );
    const answers = await Promise.all(Array.from({ length: 4 }, () => create(total)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400]);
    expect(answers.find(({ status }) => status === 400)!.json.error).toBe('limit_exceeded');
  });

  it('is nobody else’s', async () => {
    const { id } = await made();
    const theirTeam = await team('Theirs', (await gw.signUp()).token);
    const foreign = { ...total, dimension_type: 'team', dimension_value: theirTeam.id };
    expect((await create(foreign)).json.error).toBe('invalid_field');
    const other = (await gw.signUp()).token;
    expect(await list(other)).toEqual([]);
    for (const target of [id, 'not-an-id']) {
      for (const [method, suffix, body] of [
        ['GET', ''],
        ['GET', '/forecast'],
        ['PUT', '', {}],
        ['DELETE', ''],
      ] as const) {
        const answer = await gw.call(method, `/v1/spend-quotas/${target}${suffix}`, {
          token: other,
          ...(body && { body }),
        });
        expect([answer.status, answer.json.error]).toEqual([404, 'not_found']);
      }
    }
    expect(await list()).toHaveLength(1);
  });

  it.each([
    'GET /v1/spend-quotas',
    'POST /v1/spend-quotas',
    'GET /v1/spend-quotas/x',
    'PUT /v1/spend-quotas/x',
    'DELETE /v1/spend-quotas/x',
    'GET /v1/spend-quotas/x/forecast',
  ])('needs a session for %s', async (route) => {
    const [method, path] = route.split(' ') as [string, string];
    expect((await gw.call(method, path)).json.error).toBe('missing_auth');
  });
});

describe('the forecast of a quota', () => {
  it('counts what was spent of its dimension and period', async () => {
    const research = await team('Research');
    const of = {
      tenant_total: await made(),
      model: await made({ dimension_type: 'model', dimension_value: 'gpt-5-mini' }),
      team: await made({ dimension_type: 'team', dimension_value: 'research' }),
      service: await made({ dimension_type: 'service', dimension_value: 'chat' }),
      end_customer: await made({ dimension_type: 'end_customer', dimension_value: 'acme' }),
      today: await made({ period: 'day' }),
      week: await made({ period: 'week' }),
    };
    await spend(1_000_000, NOON, { model_id: 'gpt-5-mini' });
    await spend(200_000, NOON - DAY_MS, { team_id: research.id, team_slug: research.slug });
    await spend(30_000, NOON - 10 * DAY_MS, { service_name: 'chat', end_customer: 'acme' });
    await spend(4_000, NOON - 20 * DAY_MS, { end_customer: 'acme' });
    const spent = async (quota: { id: string }) => (await forecast(quota.id)).consumption.spend_microdollars;
    expect(await spent(of.tenant_total)).toBe(1_230_000);
    expect(await spent(of.model)).toBe(1_000_000);
    expect(await spent(of.team)).toBe(200_000);
    expect(await spent(of.service)).toBe(30_000);
    expect(await spent(of.end_customer)).toBe(30_000);
    expect(await spent(of.today)).toBe(1_000_000);
    expect(await spent(of.week)).toBe(1_200_000);
  });

  it('shows the quota, what is used of it and where that leads', async () => {
    const quota = await made({ limit_microdollars: 4_000_000 });
    await spend(1, Date.UTC(2026, 5, 1));
    await spend(3_100_000, NOON - DAY_MS);
    expect(await forecast(quota.id)).toEqual({
      quota,
      consumption: {
        period_start: '2026-07-01T00:00:00.000Z',
        period_end: '2026-08-01T00:00:00.000Z',
        spend_microdollars: 3_100_000,
        spend_usd: '3.100000',
        remaining_microdollars: 900_000,
        remaining_usd: '0.900000',
        utilization: 0.775,
      },
      forecast: {
        state: 'projected_exhaustion',
        projected_microdollars: 6_200_000,
        projected_usd: '6.200000',
        projected_exhaustion_at: '2026-07-21T00:00:00.000Z',
        daily_run_rate_microdollars: 200_000,
        window_days: 15.5,
      },
    });
    await change(quota.id, { limit_microdollars: 6_200_000 });
    expect((await forecast(quota.id)).forecast).toMatchObject({
      state: 'on_track',
      projected_exhaustion_at: null,
    });
    await change(quota.id, { limit_microdollars: 3_100_000 });
    const over = await forecast(quota.id);
    expect(over.forecast.state).toBe('over_limit');
    expect(over.consumption).toMatchObject({ remaining_microdollars: 0, utilization: 1 });
  });

  it.each([
    ['month', 24 * HOUR_MS],
    ['week', 24 * HOUR_MS],
    ['day', HOUR_MS],
  ])('of a %s has insufficient data until requests came for %i ms', async (period, needMs) => {
    const unused = await made({ period });
    expect((await forecast(unused.id)).forecast).toEqual({
      state: 'insufficient_data',
      projected_microdollars: null,
      projected_usd: null,
      projected_exhaustion_at: null,
      daily_run_rate_microdollars: null,
      window_days: 0,
    });
    const quotas = [unused, await made({ period, dimension_type: 'end_customer', dimension_value: 'acme' })];
    await spend(1_000, NOON - needMs + HOUR_MS, { end_customer: 'acme' });
    for (const { id } of quotas) expect((await forecast(id)).forecast.state).toBe('insufficient_data');
    nowMs = NOON + HOUR_MS;
    for (const { id } of quotas) expect((await forecast(id)).forecast.state).toBe('on_track');
  });
});
