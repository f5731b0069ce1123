import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyUsage } from '../../src/server/domain/usage.ts';
import { recordRequests } from '../api/recorded-requests.ts';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { runJob } from './run-job.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const HOUR_MS = 3_600_000;
const MODEL = 'brand-new-1';

let gw: Gateway;
let tenant: SignedUp;
let teamId: string;
let budgetId: string;

const at = (ms: number) => new Date(ms).toISOString();
const unpriced = (createdAt: string, overrides: Record<string, unknown> = {}) => ({
  created_at: createdAt,
  provider: 'prov_d' as const,
  model_requested: MODEL,
  model_id: MODEL,
  model_family: null,
  usage: { ...emptyUsage(), input: 1_000_000, cached_read: 500_000, output: 100_000 },
  tokens_input: 1_500_000,
  tokens_output: 100_000,
  cost_microdollars: 0,
  cost_status: 'unpriced' as const,
  region: null,
  price_id: null,
  reservations: [],
  ...overrides,
});

async function operator(method: string, path: string, body?: unknown) {
  return gw.call(method, `/v1/operator${path}`, { token: gw.operatorToken, body });
}
async function sumOf(table: string) {
  const [row] = await gw.sql<{ cost: number }>(
    `select coalesce(sum(cost_microdollars), 0) as cost from ${table} where tenant_id = $1`,
    [tenant.tenantId],
  );
  return Number(row!.cost);
}

beforeAll(async () => {
  gw = await startGateway({ nowMs: () => NOW });
  tenant = await gw.signUp();
  const team = await gw.call('POST', '/v1/teams', { token: tenant.token, body: { name: 'Search' } });
  teamId = team.json.id;
  const budget = await gw.call('POST', '/v1/budgets', {
    token: tenant.token,
    body: { scope_type: 'team', scope_id: teamId, amount_usd: 1000, period: 'monthly' },
  });
  budgetId = budget.json.id;
});
afterAll(() => gw.stop());

test('a new price charges what waited for it, once, in the ledger, the log, the rollups and the budgets', async () => {
  const attribution = {
    team_id: teamId,
    team_slug: 'search',
    agent: 'bot',
    user_name: 'ann',
    end_customer: 'acme',
  };
  const monthStart = Date.UTC(new Date(NOW).getUTCFullYear(), new Date(NOW).getUTCMonth(), 1);
  const [first, second, dated, tooOld, unknown] = await recordRequests(gw, tenant.tenantId, [
    unpriced(at(NOW - HOUR_MS), attribution),
    unpriced(at(monthStart - 20 * 24 * HOUR_MS)),
    unpriced(at(NOW - 2 * HOUR_MS), { model_requested: null, model_id: `${MODEL}-20261101` }),
    unpriced(at(monthStart - 40 * 24 * HOUR_MS)),
    unpriced(at(NOW - HOUR_MS), { usage_source: 'none' }),
  ]);
  await gw.sql(
    `insert into budget_periods (tenant_id, budget_id, period_start, committed_microdollars)
     values ($1, $2, $3, 7) on conflict (tenant_id, budget_id, period_start) do update set committed_microdollars = 7`,
    [tenant.tenantId, budgetId, at(monthStart)],
  );

  const created = await operator('POST', '/models', {
    provider: 'prov_d',
    model_id: MODEL,
    pricing_input_per_mtok: 2,
    pricing_cached_per_mtok: 0.5,
    pricing_output_per_mtok: 8,
  });
  expect(created.status).toBe(201);
  // 1,000,000 × 2 + 500,000 × 0.5 + 100,000 × 8 microdollars
  const cost = 3_050_000;
  await eventually(async () => expect(await sumOf('ledger_records')).toBe(3 * cost));
  const statuses = await gw.sql<{
    id: string;
    cost_status: string;
    cost_microdollars: string;
    price_id: string;
  }>('select id, cost_status, cost_microdollars, price_id from requests where tenant_id = $1', [
    tenant.tenantId,
  ]);
  const statusOf = (id: string | undefined) => statuses.find((row) => row.id === id);
  for (const id of [first, second, dated]) {
    expect(statusOf(id)).toMatchObject({
      cost_status: 'priced',
      cost_microdollars: cost,
      price_id: created.json.current_price.price_id,
    });
  }
  expect([statusOf(tooOld)?.cost_status, statusOf(unknown)?.cost_status]).toEqual(['unpriced', 'unpriced']);

  for (const table of ['usage_hourly', 'usage_daily', 'requests']) expect(await sumOf(table)).toBe(3 * cost);
  for (const table of ['usage_daily_users', 'usage_daily_end_customers', 'usage_daily_agents']) {
    expect([table, await sumOf(table)]).toEqual([table, cost]);
  }
  const [period] = await gw.sql<{ committed_microdollars: number }>(
    'select committed_microdollars from budget_periods where budget_id = $1 and period_start = $2',
    [budgetId, at(monthStart)],
  );
  expect(Number(period!.committed_microdollars)).toBe(7 + cost);

  const corrections = await gw.sql(
    `select request_id, tokens_input, hierarchy_path, created_at from ledger_records
      where tenant_id = $1 and kind = 'correction' order by sequence_number`,
    [tenant.tenantId],
  );
  expect(corrections).toHaveLength(3);
  expect(corrections.find((row) => row.request_id === first)).toEqual({
    request_id: first,
    tokens_input: 0,
    hierarchy_path: '/search/-',
    created_at: new Date(NOW - HOUR_MS),
  });
  const verified = await gw.call('GET', '/v1/ledger/verify', { token: tenant.token });
  expect(verified.json).toMatchObject({ valid: true, records_checked: 8 });
  const audit = await gw.call('GET', '/v1/audit?action=ledger.corrected', { token: tenant.token });
  expect(audit.json.data[0].details).toMatchObject({ records: 3, cost_microdollars: 3 * cost });
});

test('a late cost raises the alerts of the budgets it goes through, once, in this period and in one that is over', async () => {
  const late = await gw.signUp();
  const budget = async (body: object) =>
    (await gw.call('POST', '/v1/budgets', { token: late.token, body })).json.id as string;
  const ofService = await budget({ scope_type: 'service', scope_id: 'chat', amount_usd: 5 });
  const ofAll = await budget({ amount_usd: 100 });
  const ofOther = await budget({ scope_type: 'service', scope_id: 'other', amount_usd: 1 });
  const model = { model_requested: 'brand-new-3', model_id: 'brand-new-3', service_name: 'chat' };
  const lastMonth = Date.parse('2026-10-20T00:00:00Z');
  await recordRequests(gw, late.tenantId, [
    unpriced(at(NOW - HOUR_MS), model),
    unpriced(at(lastMonth), model),
    unpriced(at(lastMonth), model),
  ]);
  const prices = { pricing_input_per_mtok: 2, pricing_cached_per_mtok: 0.5, pricing_output_per_mtok: 8 };
  await operator('POST', '/models', { provider: 'prov_d', model_id: 'brand-new-3', ...prices });

  const alerts = () =>
    gw.sql<{ title: string; severity: string; budget_id: string; spend: number }>(
      `select title, severity, metadata ->> 'budget_id' as budget_id,
              (metadata ->> 'spend_microdollars')::bigint as spend
         from alerts where tenant_id = $1 and alert_type = 'budget_threshold' order by title`,
      [late.tenantId],
    );
  const title = (percent: number, spent: string, when: string) =>
    `${percent}% of the budget for service chat is spent: $${spent} of $5.00 ${when}`;
  await eventually(async () => expect(await alerts()).toHaveLength(4));
  expect(await alerts()).toEqual([
    {
      title: title(100, '6.10', 'in the month from 2026-10-01'),
      severity: 'critical',
      budget_id: ofService,
      spend: 6_100_000,
    },
    {
      title: title(50, '3.05', 'this month'),
      severity: 'info',
      budget_id: ofService,
      spend: 3_050_000,
    },
    expect.objectContaining({ title: title(50, '6.10', 'in the month from 2026-10-01') }),
    expect.objectContaining({ title: title(80, '6.10', 'in the month from 2026-10-01') }),
  ]);
  await runJob(gw, 'correct_unpriced');
  expect(await alerts()).toHaveLength(4);

  // The periods that nobody had looked at before hold what the ledger says, and no more.
  const spent = await gw.sql<{ budget_id: string; spent: number[] }>(
    `select budget_id, array_agg(committed_microdollars::int order by period_start) as spent
       from budget_periods where tenant_id = $1 group by budget_id`,
    [late.tenantId],
  );
  const spentOf = (id: string) => spent.find((row) => row.budget_id === id)?.spent;
  expect([spentOf(ofService), spentOf(ofAll)]).toEqual([
    [6_100_000, 3_050_000],
    [6_100_000, 3_050_000],
  ]);
  expect((spentOf(ofOther) ?? []).every((figure) => figure === 0)).toBe(true);
});

test('running it again changes nothing', async () => {
  const before = await gw.sql('select count(*) from ledger_records');
  const ran = await operator('POST', '/jobs/correct_unpriced/run');
  expect([ran.status, ran.json]).toEqual([200, { job: 'correct_unpriced', status: 'queued' }]);
  await eventually(async () => {
    const { json } = await operator('GET', '/health');
    const job = json.jobs.find((row: { name: string }) => row.name === 'correct_unpriced');
    expect(job).toMatchObject({ last_error: null, running: false });
    expect(job.last_finished_at).not.toBeNull();
  });
  expect(await gw.sql('select count(*) from ledger_records')).toEqual(before);
});

test('a request of the proxy without a price is charged when the price comes, and the history is not re-priced by the next', async () => {
  const caller = await gw.onboard();
  gw.simulator.script('prov_d', { usage: { inputTokens: 1000, outputTokens: 500 } });
  const body = { model: 'brand-new-2', messages: [{ role: 'user', content: 'hello' }] };
  expect((await gw.proxy('/prov_d/chat/completions', { key: caller.key, body })).status).toBe(200);
  await gw.logged(caller.token, 1);
  const log = async () => (await gw.call('GET', '/v1/usage/requests', { token: caller.token })).json.data[0];
  expect(await log()).toMatchObject({ cost_status: 'unpriced', cost_microdollars: 0 });
  const prices = { pricing_input_per_mtok: 3, pricing_output_per_mtok: 6 };
  const created = await operator('POST', '/models', {
    provider: 'prov_d',
    model_id: 'brand-new-2',
    ...prices,
  });
  await eventually(async () => {
    expect(await log()).toMatchObject({
      cost_status: 'priced',
      cost_microdollars: 6000,
      cost_usd: '0.006000',
    });
  });
  const { json: summary } = await gw.call('GET', '/v1/usage/by-model', { token: caller.token });
  expect(summary.data[0].cost_microdollars).toBe(6000);
  // A clock that stands still has no later instant; a change at the same one is refused, not applied over it.
  const later = at(NOW + 60_000);
  const changed = await operator('PUT', `/models/${created.json.id}`, {
    pricing_input_per_mtok: 30,
    effective_from: later,
  });
  expect(changed.status).toBe(200);
  expect((await operator('POST', '/jobs/correct_unpriced/run')).status).toBe(200);
  expect(await log()).toMatchObject({ cost_microdollars: 6000 });
});
