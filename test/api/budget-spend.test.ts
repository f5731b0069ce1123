import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { periodOf } from '../../src/server/domain/period.ts';
import {
  ensureBudgetPeriod,
  listBudgetStandings,
  recountBudgetPeriod,
} from '../../src/server/store/budgets.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { recordRequests } from './recorded-requests.ts';

const DAY_MS = 86_400_000;

let gw: Gateway;
let database: Database;
let token: string;
let tenantId: string;
beforeAll(async () => {
  gw = await startGateway();
  database = openDatabase({ url: gw.databaseUrl, name: 'test', connections: 5, onIdleError: () => {} });
});
afterAll(async () => {
  await database.close();
  await gw.stop();
});
beforeEach(async () => {
  ({ token, tenantId } = await gw.signUp());
});

const create = (body: unknown) => gw.call('POST', '/v1/budgets', { token, body });
const read = async (id: string) => (await gw.call('GET', `/v1/budgets/${id}`, { token })).json;
const change = (id: string, body: unknown) => gw.call('PUT', `/v1/budgets/${id}`, { token, body });
const made = async (body: Record<string, unknown>) => {
  const answer = await create({ amount_usd: 10, ...body });
  expect(answer.status).toBe(201);
  return answer.json;
};
const spend = (microdollars: number, by: object = {}) =>
  recordRequests(gw, tenantId, [
    { created_at: new Date().toISOString(), cost_microdollars: microdollars, ...by },
  ]);
const team = async (name: string) => (await gw.call('POST', '/v1/teams', { token, body: { name } })).json;
const alerts = () =>
  gw.sql<{ severity: string; title: string; metadata: Record<string, unknown>; cause: string }>(
    'select severity, title, metadata, cause from alerts where tenant_id = $1 order by id',
    [tenantId],
  );

describe('what is spent of a budget', () => {
  it('is what the records of its scope and period cost', async () => {
    const research = await team('Research');
    const budgets = {
      organization: await made({}),
      team: await made({ scope_type: 'team', scope_id: research.id }),
      service: await made({ scope_type: 'service', scope_id: 'chat' }),
      agent: await made({ scope_type: 'agent', agent_name: 'bot' }),
      other: await made({ scope_type: 'agent', agent_name: 'chat' }),
    };
    await spend(1_000_000, { team_id: research.id, team_slug: research.slug });
    await spend(200_000, { service_name: 'chat', agent: 'bot' });
    await spend(30_000, { agent: 'bot' });
    const lastPeriodMs = periodOf('month', Date.now()).startMs - DAY_MS;
    await spend(7_000_000, { created_at: new Date(lastPeriodMs).toISOString(), service_name: 'chat' });
    const spent = async (budget: { id: string }) => (await read(budget.id)).current_spend_microdollars;
    expect(await spent(budgets.organization)).toBe(1_230_000);
    expect(await spent(budgets.team)).toBe(1_000_000);
    expect(await spent(budgets.service)).toBe(200_000);
    expect(await spent(budgets.agent)).toBe(230_000);
    expect(await spent(budgets.other)).toBe(0);
    expect(await read(budgets.organization.id)).toMatchObject({
      current_spend_usd: '1.230000',
      utilization: 0.123,
    });
    // The figure that is enforced begins as the one that was shown.
    const standings = await database.asTenant(tenantId, async (db) => {
      const before = await listBudgetStandings(db, tenantId, Date.now());
      for (const { id, period_start } of before) await ensureBudgetPeriod(db, tenantId, { id }, period_start);
      expect(await listBudgetStandings(db, tenantId, Date.now())).toEqual(before);
      return before;
    });
    const rows = await gw.sql(
      'select committed_microdollars::int as spent from budget_periods where tenant_id = $1',
      [tenantId],
    );
    expect(rows.map((row) => row.spent).sort()).toEqual(
      standings.map(({ spend_microdollars }) => spend_microdollars).sort(),
    );
  });

  it('is the enforced figure once there is one, with what nodes hold and what was granted', async () => {
    const budget = await made({ mode: 'approval' });
    const start = budget.period_start;
    await gw.sql('insert into budget_periods values ($1, $2, $3, 4000000)', [tenantId, budget.id, start]);
    for (const [node, amount, seconds] of [
      ['0197f000-0000-7000-8000-000000000001', 300_000, 60],
      ['0197f000-0000-7000-8000-000000000002', 20_000, 60],
      ['0197f000-0000-7000-8000-000000000003', 900_000, -60],
    ]) {
      await gw.sql(
        `insert into budget_leases (tenant_id, budget_id, period_start, node_id, amount_microdollars, expires_at)
         values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
        [tenantId, budget.id, start, node, amount, seconds],
      );
    }
    for (const [status, extra, hours] of [
      ['approved', 5_000_000, 1],
      ['approved', 1_000_000, 2],
      ['approved', 9_000_000, -1],
      ['denied', null, 1],
    ]) {
      await gw.sql(
        `insert into budget_approvals (tenant_id, id, budget_id, status, extra_microdollars, approved_until)
         values ($1, gen_random_uuid(), $2, $3, $4, now() + make_interval(hours => $5))`,
        [tenantId, budget.id, status, extra, hours],
      );
    }
    expect(await read(budget.id)).toMatchObject({
      amount_usd: 10,
      current_spend_microdollars: 4_000_000,
      current_spend_usd: '4.000000',
      reserved_microdollars: 320_000,
      reserved_usd: '0.320000',
      effective_limit_microdollars: 16_000_000,
      effective_limit_usd: '16.000000',
      utilization: 0.25,
    });
    // What an ended node left would only be in the way of the tests that follow.
    await gw.sql('delete from budget_leases where tenant_id = $1', [tenantId]);
  });

  it('is counted anew when a budget returns to a period that it had before', async () => {
    const budget = await made({ period: 'monthly' });
    await database.asTenant(tenantId, (db) =>
      ensureBudgetPeriod(db, tenantId, budget, new Date(budget.period_start)),
    );
    await change(budget.id, { period: 'daily' });
    await spend(2_000_000);
    expect((await change(budget.id, { period: 'monthly' })).json.current_spend_microdollars).toBe(2_000_000);
  });

  it('is counted once, however many count it first at once', async () => {
    const { id, period_start } = await made({});
    await spend(1_500_000);
    await Promise.all(
      Array.from({ length: 5 }, () =>
        database.asSystem((db) => ensureBudgetPeriod(db, tenantId, { id }, new Date(period_start))),
      ),
    );
    const rows = await gw.sql(
      'select committed_microdollars::int as spent from budget_periods where budget_id = $1',
      [id],
    );
    expect(rows).toEqual([{ spent: 1_500_000 }]);
  });

  it('holds a tenant’s very first batch, whose ledger head nobody sees yet', async () => {
    const { id, period_start } = await made({});
    let finishBatch = () => {};
    const mayFinish = new Promise<void>((resolve) => {
      finishBatch = resolve;
    });
    let headIsWritten = () => {};
    const written = new Promise<void>((resolve) => {
      headIsWritten = resolve;
    });
    const batch = database.asSystem(async (db) => {
      await db.query(sql`insert into ledger_heads values (${tenantId}, 1, 'h', 's')`);
      await db.query(sql`
        insert into usage_daily values (${tenantId}, ${period_start.slice(0, 10)}, 'prov_a', 'm', '', '', 'production',
          200, 1, 1, 1, 0, 777, 1)`);
      headIsWritten();
      await mayFinish;
    });
    await written;
    const counting = database.asSystem((db) =>
      ensureBudgetPeriod(db, tenantId, { id }, new Date(period_start)),
    );
    try {
      await eventually(async () => {
        const waiting = await gw.sql(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        expect(waiting).not.toEqual([]);
      });
    } finally {
      finishBatch();
      await Promise.all([batch, counting]);
    }
    expect((await read(id)).current_spend_microdollars).toBe(777);
    const [row] = await gw.sql(
      'select committed_microdollars::int as spent from budget_periods where budget_id = $1',
      [id],
    );
    expect(row).toEqual({ spent: 777 });
  });

  it('leaves no trace of a ledger head where there was none', async () => {
    const { id, period_start } = await made({});
    await database.asTenant(tenantId, async (db) => {
      await ensureBudgetPeriod(db, tenantId, { id }, new Date(period_start));
      await recountBudgetPeriod(db, tenantId, { id }, new Date(period_start));
    });
    expect(await gw.sql('select from ledger_heads where tenant_id = $1', [tenantId])).toEqual([]);
    expect((await read(id)).current_spend_microdollars).toBe(0);
  });
});

describe('a budget that is passed already', () => {
  it('tells its highest threshold when it is made, and again only a higher one', async () => {
    await spend(8_500_000);
    const budget = await made({ amount_usd: 10 });
    expect(await alerts()).toMatchObject([
      {
        severity: 'warning',
        title: '80% of the budget for the organization is spent: $8.50 of $10.00 this month',
        metadata: { budget_id: budget.id, threshold: 0.8, spend_microdollars: 8_500_000 },
        cause: `budget:${budget.id}:${budget.period_start}:0.8`,
      },
    ]);
    await change(budget.id, { amount_usd: 9 });
    expect(await alerts()).toHaveLength(1);
    await change(budget.id, { amount_usd: 8 });
    expect((await alerts()).map(({ severity }) => severity)).toEqual(['warning', 'critical']);
    await change(budget.id, { amount_usd: 100 });
    await change(budget.id, { amount_usd: 8 });
    expect(await alerts()).toHaveLength(2);
  });

  it('says nothing while less than half is spent', async () => {
    await spend(4_999_999);
    await made({ amount_usd: 10 });
    expect(await alerts()).toEqual([]);
  });
});
