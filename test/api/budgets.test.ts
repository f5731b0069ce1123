import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { periodOf } from '../../src/server/domain/period.ts';
import { type Gateway, startGateway } from '../harness.ts';

let gw: Gateway;
let token: string;
let tenantId: string;
beforeAll(async () => {
  gw = await startGateway();
});
afterAll(() => gw.stop());
beforeEach(async () => {
  ({ token, tenantId } = await gw.signUp());
});

const create = (body: unknown, as = token) => gw.call('POST', '/v1/budgets', { token: as, body });
const read = async (id: string) => (await gw.call('GET', `/v1/budgets/${id}`, { token })).json;
const change = (id: string, body: unknown) => gw.call('PUT', `/v1/budgets/${id}`, { token, body });
const made = async (body: Record<string, unknown>) => {
  const answer = await create({ amount_usd: 10, ...body });
  expect(answer.status).toBe(201);
  return answer.json;
};
const team = async (name: string, as = token) =>
  (await gw.call('POST', '/v1/teams', { token: as, body: { name } })).json;

describe('a budget', () => {
  it('is created with defaults and shows where it stands', async () => {
    const answer = await create({ amount_usd: 25.5 });
    expect(answer.status).toBe(201);
    const { startMs, endMs } = periodOf('month', Date.now());
    expect(answer.json).toEqual({
      id: expect.any(String),
      scope_type: 'organization',
      scope_id: null,
      agent_name: null,
      amount_usd: 25.5,
      period: 'monthly',
      mode: 'soft',
      period_start: new Date(startMs).toISOString(),
      period_end: new Date(endMs).toISOString(),
      resets_at: new Date(endMs).toISOString(),
      current_spend_microdollars: 0,
      current_spend_usd: '0.000000',
      reserved_microdollars: 0,
      reserved_usd: '0.000000',
      effective_limit_microdollars: 25_500_000,
      effective_limit_usd: '25.500000',
      utilization: 0,
      created_at: expect.any(String),
    });
    expect(await read(answer.json.id)).toEqual(answer.json);
    expect((await gw.call('GET', '/v1/budgets', { token })).json).toEqual([answer.json]);
  });

  it.each([
    ['daily', 'day'],
    ['weekly', 'week'],
    ['monthly', 'month'],
  ] as const)('that is %s turns over with the UTC %s', async (period, inside) => {
    const budget = await made({ period });
    const { startMs, endMs } = periodOf(inside, Date.now());
    expect(budget).toMatchObject({
      period,
      period_start: new Date(startMs).toISOString(),
      period_end: new Date(endMs).toISOString(),
    });
    const [row] = await gw.sql('select period from budgets where id = $1', [budget.id]);
    expect(row!.period).toBe(inside);
  });

  it('changes its amount, period and mode, and leaves what is not named as it is', async () => {
    const budget = await made({ scope_type: 'service', scope_id: 'chat', mode: 'hard' });
    expect((await change(budget.id, { amount_usd: 0.000001 })).json).toMatchObject({
      amount_usd: 0.000001,
      effective_limit_microdollars: 1,
      period: 'monthly',
      mode: 'hard',
      scope_id: 'chat',
    });
    expect((await change(budget.id, { period: 'daily', mode: 'approval' })).json).toMatchObject({
      amount_usd: 0.000001,
      period: 'daily',
      mode: 'approval',
    });
    const unknown = await change(budget.id, { amount: 5 });
    expect([unknown.status, unknown.headers.get('warning')]).toEqual([
      200,
      expect.stringContaining('amount'),
    ]);
  });

  it('is gone after its deletion, which is on record like every change', async () => {
    const { id } = await made({});
    await change(id, { amount_usd: 11 });
    const deleted = await gw.call('DELETE', `/v1/budgets/${id}`, { token });
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect((await gw.call('GET', '/v1/budgets', { token })).json).toEqual([]);
    for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const) {
      const answer = await gw.call(method, `/v1/budgets/${id}`, { token, ...(body && { body }) });
      expect([answer.status, answer.json.error]).toEqual([404, 'not_found']);
    }
    const entries = await gw.sql(
      "select action, details from audit_entries where tenant_id = $1 and resource_type = 'budget' order by id",
      [tenantId],
    );
    expect(entries.map(({ action }) => action)).toEqual([
      'budget.created',
      'budget.updated',
      'budget.deleted',
    ]);
    expect(entries[1]!.details).toMatchObject({ amount_usd: '11.000000', period: 'monthly', mode: 'soft' });
  });

  it.each([
    [{}, 'amount_required'],
    [{ amount_usd: 0 }, 'amount_required'],
    [{ amount_usd: -1 }, 'amount_required'],
    [{ amount_usd: '10' }, 'amount_required'],
    [{ amount_usd: null }, 'amount_required'],
    [{ amount_usd: 0.0000001 }, 'invalid_field'],
    [{ amount_usd: 1.2345678 }, 'invalid_field'],
    [{ amount_usd: 1e10 }, 'invalid_field'],
    [{ amount_usd: 1e300 }, 'invalid_field'],
    [{ amount_usd: 1, scope_type: 'user' }, 'invalid_scope_type'],
    [{ amount_usd: 1, scope_type: 7 }, 'invalid_scope_type'],
    [{ scope_type: 'org' }, 'invalid_scope_type'],
    [{ amount_usd: 1, scope_type: 'team' }, 'scope_value_required'],
    [{ amount_usd: 1, scope_type: 'team', scope_id: '' }, 'scope_value_required'],
    [{ amount_usd: 1, scope_type: 'service', scope_id: null }, 'scope_value_required'],
    [{ amount_usd: 1, scope_type: 'agent' }, 'scope_value_required'],
    [{ amount_usd: 1, scope_type: 'agent', scope_id: 'a' }, 'scope_value_required'],
    [{ amount_usd: 1, scope_type: 'team', scope_id: 'nobody' }, 'invalid_field'],
    [{ amount_usd: 1, scope_type: 'service', scope_id: 'a\u0000b' }, 'invalid_field'],
    [{ amount_usd: 1, scope_type: 'service', scope_id: 7 }, 'invalid_field'],
    [{ amount_usd: 1, scope_id: 'chat' }, 'invalid_field'],
    [{ amount_usd: 1, agent_name: 'bot' }, 'invalid_field'],
    [{ amount_usd: 1, period: 'day' }, 'invalid_field'],
    [{ amount_usd: 1, mode: 'firm' }, 'invalid_field'],
  ])('is refused as %j with %s', async (body, error) => {
    const answer = await create(body);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    expect((await gw.call('GET', '/v1/budgets', { token })).json).toEqual([]);
  });

  it.each([
    [{ amount_usd: 0 }, 'amount_required'],
    [{ amount_usd: 'x' }, 'amount_required'],
    [{ amount_usd: 1.1234567 }, 'invalid_field'],
    [{ period: 'yearly' }, 'invalid_field'],
    [{ mode: null }, 'invalid_field'],
  ])('is not changed to %j, with %s', async (body, error) => {
    const budget = await made({});
    const answer = await change(budget.id, body);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    expect(await read(budget.id)).toEqual(budget);
  });

  it('names a team by id, slug or name and keeps its id', async () => {
    const { id, slug } = await team('Research Lab');
    for (const scope_id of [id, id.toUpperCase(), slug, ' Research Lab ']) {
      expect(await made({ scope_type: 'team', scope_id })).toMatchObject({ scope_id: id });
    }
    await gw.call('DELETE', `/v1/teams/${id}`, { token });
    expect((await create({ amount_usd: 1, scope_type: 'team', scope_id: id })).json.error).toBe(
      'invalid_field',
    );
  });

  it('is one of at most five hundred', async () => {
    await gw.sql(
      `insert into budgets (tenant_id, id, scope_type, amount_microdollars, period, mode)
       select $1, gen_random_uuid(), 'organization', 1, 'month', 'soft' from generate_series(1, 499)`,
      [tenantId],
    );
    const answers = await Promise.all(Array.from({ length: 4 }, () => create({ amount_usd: 1 })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400]);
    expect(answers.find(({ status }) => status === 400)!.json.error).toBe('limit_exceeded');
  });

  it('is nobody else’s', async () => {
    const { id } = await made({});
    const theirTeam = await team('Theirs', (await gw.signUp()).token);
    expect((await create({ amount_usd: 1, scope_type: 'team', scope_id: theirTeam.id })).status).toBe(400);
    const other = (await gw.signUp()).token;
    expect((await gw.call('GET', '/v1/budgets', { token: other })).json).toEqual([]);
    const missing = await gw.call('GET', '/v1/budgets/0197f000-0000-7000-8000-000000000000', {
      token: other,
    });
    for (const [method, body] of [['GET'], ['PUT', { amount_usd: 1 }], ['DELETE']] as const) {
      for (const path of [`/v1/budgets/${id}`, '/v1/budgets/not-an-id']) {
        const answer = await gw.call(method, path, { token: other, ...(body && { body }) });
        expect([answer.status, answer.json]).toEqual([404, missing.json]);
      }
    }
    expect(await read(id)).toMatchObject({ amount_usd: 10 });
  });
});

it.each([
  'GET /v1/budgets',
  'POST /v1/budgets',
  'GET /v1/budgets/x',
  'PUT /v1/budgets/x',
  'DELETE /v1/budgets/x',
])('needs a session for %s', async (route) => {
  const [method, path] = route.split(' ') as [string, string];
  expect((await gw.call(method, path)).json.error).toBe('missing_auth');
});
