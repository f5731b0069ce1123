import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { requestApproval } from '../../src/server/store/budget-approvals.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { type Gateway, startGateway } from '../harness.ts';

const HOUR_MS = 3_600_000;

let gw: Gateway;
let database: Database;
let token: string;
let tenantId: string;
let email: string;
let budgetId: string;
/** Moves the program's clock without waiting. */
let shiftMs = 0;
beforeAll(async () => {
  gw = await startGateway({ nowMs: () => Date.now() + shiftMs });
  database = openDatabase({ url: gw.databaseUrl, name: 'test', connections: 5, onIdleError: () => {} });
});
afterAll(async () => {
  await database.close();
  await gw.stop();
});
beforeEach(async () => {
  shiftMs = 0;
  ({ token, tenantId, email } = await gw.signUp());
  budgetId = await makeBudget();
});

async function makeBudget(body: Record<string, unknown> = {}): Promise<string> {
  const { json } = await gw.call('POST', '/v1/budgets', {
    token,
    body: { amount_usd: 10, mode: 'approval', ...body },
  });
  return json.id;
}
const ask = (budget = budgetId, details = { estimated_usd: '0.500000' }) =>
  database.asTenant(tenantId, (db) => requestApproval(db, tenantId, budget, details));
const list = async (query = '', as = token) =>
  (await gw.call('GET', `/v1/budget-approvals${query}`, { token: as })).json;
const decide = (id: string, verdict: 'approve' | 'deny', body?: unknown, as = token) =>
  gw.call('POST', `/v1/budget-approvals/${id}/${verdict}`, {
    token: as,
    ...(body !== undefined && { body }),
  });
async function pending(): Promise<string> {
  expect(await ask()).toBe(true);
  return (await list('?status=pending')).data[0].id;
}

describe('an approval', () => {
  it('is asked for once per budget, however many run into its cap at once, and people hear of it', async () => {
    const asked = await Promise.all(Array.from({ length: 8 }, () => ask()));
    expect(asked.filter(Boolean)).toHaveLength(1);
    const { data, total, limit, offset } = await list();
    expect([total, limit, offset]).toEqual([1, 50, 0]);
    expect(data).toEqual([
      {
        id: expect.any(String),
        budget_id: budgetId,
        status: 'pending',
        requested_at: expect.any(String),
        details: { estimated_usd: '0.500000' },
        decided_at: null,
        decided_by: null,
        extra_microdollars: null,
        extra_usd: null,
        approved_until: null,
      },
    ]);
    const alerts = await gw.sql(
      'select alert_type, severity, title, metadata, cause from alerts where tenant_id = $1',
      [tenantId],
    );
    expect(alerts).toEqual([
      {
        alert_type: 'budget_threshold',
        severity: 'critical',
        title:
          'Approval needed: the budget of $10.00 for the organization is used up and a request was refused',
        metadata: { budget_id: budgetId, approval_id: data[0].id, estimated_usd: '0.500000' },
        cause: `approval:${data[0].id}`,
      },
    ]);
  });

  it('is asked for by approval budgets only, and not by deleted ones', async () => {
    expect(await ask(await makeBudget({ mode: 'hard' }))).toBe(false);
    await gw.call('DELETE', `/v1/budgets/${budgetId}`, { token });
    expect(await ask()).toBe(false);
    expect((await list()).total).toBe(0);
  });

  it('grants more for a day when no time is named, and the limit falls back by itself', async () => {
    const id = await pending();
    const approved = await decide(id, 'approve', { extra_usd: 2.5 });
    expect(approved.status).toBe(200);
    expect(approved.json).toMatchObject({
      id,
      budget_id: budgetId,
      status: 'approved',
      decided_by: email,
      extra_microdollars: 2_500_000,
      extra_usd: '2.500000',
      duration_hours: 24,
      duration_capped: false,
    });
    const { decided_at, approved_until } = approved.json;
    expect(Date.parse(approved_until) - Date.parse(decided_at)).toBe(24 * HOUR_MS);
    const limit = async () =>
      (await gw.call('GET', `/v1/budgets/${budgetId}`, { token })).json.effective_limit_usd;
    expect(await limit()).toBe('12.500000');
    expect((await list('?status=approved')).total).toBe(1);
    // Within the session's own 24 hours: the grant was made a moment after it.
    await gw.sql("update budget_approvals set approved_until = now() + interval '1 hour' where id = $1", [
      id,
    ]);
    shiftMs = HOUR_MS + 1_000;
    expect(await limit()).toBe('10.000000');
    expect((await list()).data[0].status).toBe('expired');
    expect((await list('?status=approved')).total).toBe(0);
    expect((await list('?status=expired')).total).toBe(1);
  });

  it.each([
    [1, 1, false],
    [720, 720, false],
    [721, 720, true],
    [1_000_000_000, 720, true],
  ])('asked for %i hours is granted for %i', async (duration_hours, granted, capped) => {
    const { json } = await decide(await pending(), 'approve', { extra_usd: 1, duration_hours });
    expect([json.duration_hours, json.duration_capped]).toEqual([granted, capped]);
    expect(Date.parse(json.approved_until) - Date.parse(json.decided_at)).toBe(granted * HOUR_MS);
  });

  it('is denied, and may be asked for again', async () => {
    const id = await pending();
    const denied = await decide(id, 'deny');
    expect([denied.status, denied.json.status, denied.json.decided_by]).toEqual([200, 'denied', email]);
    expect(denied.json).toMatchObject({ extra_microdollars: null, extra_usd: null, approved_until: null });
    expect(await ask()).toBe(true);
    expect((await list()).data.map(({ status }: { status: string }) => status)).toEqual([
      'pending',
      'denied',
    ]);
  });

  it('is decided once, of however many decide at once', async () => {
    const id = await pending();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        index % 2 === 0 ? decide(id, 'approve', { extra_usd: 1 }) : decide(id, 'deny'),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status, json }) => status === 409 && json.error === 'conflict')).toHaveLength(9);
    const audit = await gw.sql(
      "select action from audit_entries where tenant_id = $1 and resource_type = 'budget_approval'",
      [tenantId],
    );
    expect(audit).toHaveLength(1);
  });

  it.each([
    {},
    { extra_usd: 0 },
    { extra_usd: -1 },
    { extra_usd: '1' },
    { extra_usd: 0.0000001 },
    { extra_usd: 1e12 },
    { extra_usd: 1, duration_hours: 0 },
    { extra_usd: 1, duration_hours: -5 },
    { extra_usd: 1, duration_hours: 1.5 },
    { extra_usd: 1, duration_hours: '24' },
  ])('is not granted as %j', async (body) => {
    const id = await pending();
    const answer = await decide(id, 'approve', body);
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_field']);
    expect((await list('?status=pending')).total).toBe(1);
  });

  it('of a deleted budget is denied with it', async () => {
    const id = await pending();
    await gw.call('DELETE', `/v1/budgets/${budgetId}`, { token });
    expect((await list()).data).toMatchObject([{ id, status: 'denied', decided_by: email }]);
    expect((await decide(id, 'approve', { extra_usd: 1 })).status).toBe(409);
  });

  it('is listed page by page, newest first, and by status', async () => {
    for (let round = 0; round < 3; round++) await decide(await pending(), 'deny');
    await pending();
    const all = await list();
    expect(all.total).toBe(4);
    const second = await list('?limit=1&offset=1');
    expect(second).toMatchObject({ total: 4, limit: 1, offset: 1, data: [{ id: all.data[1].id }] });
    expect((await list('?status=denied')).total).toBe(3);
    expect((await list('?status=pending')).total).toBe(1);
    for (const query of ['?status=granted', '?limit=-1', '?offset=x'])
      expect((await list(query)).error).toBe('invalid_field');
  });

  it('is nobody else’s', async () => {
    const id = await pending();
    const other = (await gw.signUp()).token;
    expect((await list('', other)).total).toBe(0);
    for (const verdict of ['approve', 'deny'] as const) {
      for (const target of [id, 'not-an-id']) {
        const answer = await decide(target, verdict, { extra_usd: 1 }, other);
        expect([answer.status, answer.json.error]).toEqual([404, 'not_found']);
      }
      expect((await gw.call('POST', `/v1/budget-approvals/${id}/${verdict}`)).json.error).toBe(
        'missing_auth',
      );
    }
    expect((await list('?status=pending')).total).toBe(1);
  });
});
