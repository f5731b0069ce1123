import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, eventually, type Gateway, startGateway } from '../harness.ts';
import { bodyThatReserves, CHAT, countOf, spend, startNodes } from './spending.ts';

const CENT = 10_000;

let nodes: Gateway[];
let gateway: Gateway;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ nodes, stop } = await startNodes(3));
  gateway = nodes[0]!;
});
afterAll(() => stop());
beforeEach(() => gateway.simulator.reset());

async function onboardWithBudget(body: Record<string, unknown>) {
  const tenant = await gateway.onboard();
  const made = await gateway.call('POST', '/v1/budgets', { token: tenant.token, body });
  expect(made.status).toBe(201);
  return { ...tenant, budgetId: made.json.id as string };
}

async function readBudget(token: string, id: string) {
  return (await gateway.call('GET', `/v1/budgets/${id}`, { token })).json;
}

test('200 calls at once that state no cap on their output all fit under $2,000', async () => {
  const { key, token, budgetId } = await onboardWithBudget({ amount_usd: 2_000, mode: 'hard' });
  gateway.simulator.script('prov_a', { delayMs: 200 });
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] };
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => nodes[n % 3]!.proxy(CHAT, { key, body })),
  );
  expect(countOf(answers.map(({ status }) => status))).toEqual({ 200: 200 });
  await eventually(async () =>
    expect(await readBudget(token, budgetId)).toMatchObject({ reserved_microdollars: 0 }),
  );
});

test('200 calls at the cap of an approval budget ask once, are refused, and pass once it is approved', async () => {
  const { key, token, budgetId } = await onboardWithBudget({ amount_usd: 0.05, mode: 'approval' });
  const { body, usage } = bodyThatReserves(CENT);
  gateway.simulator.script('prov_a', { usage });
  const statuses = await spend(nodes, { key, body, tries: 205, clients: 64 });
  expect(countOf(statuses)).toEqual({ 200: 5, 429: 200 });
  const { json: pending } = await gateway.call('GET', '/v1/budget-approvals?status=pending', { token });
  expect(pending).toMatchObject({ total: 1, data: [{ budget_id: budgetId }] });
  const approved = await gateway.call('POST', `/v1/budget-approvals/${pending.data[0].id}/approve`, {
    token,
    body: { extra_usd: 0.1 },
  });
  expect(approved.status).toBe(200);
  await eventually(async () => {
    const answer = await nodes[2]!.proxy(CHAT, { key, body });
    expect(answer.status).toBe(200);
  });
  const more = await spend(nodes, { key, body, tries: 50, clients: 16 });
  expect(countOf(more)).toEqual({ 200: 9, 429: 41 });
  await eventually(async () =>
    expect(await readBudget(token, budgetId)).toMatchObject({
      current_spend_usd: '0.150000',
      effective_limit_usd: '0.150000',
    }),
  );
});

test('a thousand calls through a budget’s thresholds on three nodes raise one alert for each', async () => {
  const { key, token, budgetId } = await onboardWithBudget({ amount_usd: 10, mode: 'hard' });
  const { body, usage } = bodyThatReserves(CENT);
  gateway.simulator.script('prov_a', { usage });
  const statuses = await spend(nodes, { key, body, tries: 1_000, clients: 48 });
  expect(countOf(statuses)).toEqual({ 200: 1_000 });
  await gateway.logged(token, 1_000);
  const rows = await gateway.sql<{ threshold: number }>(
    `select (metadata->>'threshold')::float as threshold from alerts
      where metadata->>'budget_id' = $1 order by 1`,
    [budgetId],
  );
  expect(rows.map(({ threshold }) => threshold)).toEqual([0.5, 0.8, 1]);
}, 120_000);

test('a refusal says which budget, where it stands and when it starts anew, and is not to be tried again', async () => {
  const { key, budgetId } = await onboardWithBudget({ amount_usd: 0.01, mode: 'hard', period: 'daily' });
  const { body, usage } = bodyThatReserves(CENT);
  gateway.simulator.script('prov_a', { usage });
  expect((await gateway.proxy(CHAT, { key, body })).status).toBe(200);
  const refused = await eventually(async () => {
    const answer = await gateway.proxy(CHAT, { key, body });
    expect(answer.json.spent_usd).toBe('0.010000');
    return answer;
  });
  expect(refused.status).toBe(429);
  expect(refused.headers.get('x-should-retry')).toBe('false');
  expect(refused.json).toMatchObject({
    budget_id: budgetId,
    scope: 'organization',
    limit_usd: '0.010000',
    reserved_usd: '0.000000',
    estimated_usd: '0.010000',
  });
  expect(Date.parse(refused.json.resets_at)).toBe(Math.ceil(Date.now() / 86_400_000) * 86_400_000);
});

test('a name without a price of its own is reserved by the model that answers to it, once that is known', async () => {
  const { key, token, budgetId } = await onboardWithBudget({ amount_usd: 0.03, mode: 'hard' });
  const { body, usage } = bodyThatReserves(CENT);
  gateway.simulator.script('prov_a', { usage, model: 'gpt-4o' });
  const alias = { ...body, model: 'newest-one' };
  // Nobody knows yet what it will cost; from its record on everybody does.
  expect((await gateway.proxy(CHAT, { key, body: alias })).status).toBe(200);
  await gateway.logged(token, 1);
  const statuses: number[] = [];
  for (let call = 0; call < 5; call += 1)
    statuses.push((await gateway.proxy(CHAT, { key, body: alias })).status);
  expect(countOf(statuses)).toEqual({ 200: 2, 429: 3 });
  await gateway.logged(token, 6);
  await eventually(async () => {
    const { current_spend_microdollars: spent, reserved_microdollars } = await readBudget(token, budgetId);
    expect(spent).toBeLessThanOrEqual(3 * CENT);
    expect(reserved_microdollars).toBe(0);
  });
});

describe('whatever size a caller claims', () => {
  const messages = [{ role: 'user', content: 'hi' }];
  const bodies: Array<[string, string]> = [
    ['max_tokens 1e9', JSON.stringify({ model: 'gpt-4o', max_tokens: 1e9, messages })],
    ['max_tokens -1', JSON.stringify({ model: 'gpt-4o', max_tokens: -1, messages })],
    ['max_tokens 1e308', `{"model":"gpt-4o","max_tokens":1e308,"messages":${JSON.stringify(messages)}}`],
    ['max_tokens 1e999', `{"model":"gpt-4o","max_tokens":1e999,"messages":${JSON.stringify(messages)}}`],
    ['max_tokens "9e99"', JSON.stringify({ model: 'gpt-4o', max_tokens: '9e99', messages })],
    ['max_tokens 0.5', JSON.stringify({ model: 'gpt-4o', max_tokens: 0.5, messages })],
    ['n 1e6', JSON.stringify({ model: 'gpt-4o', max_tokens: 10, n: 1e6, messages })],
    ['n -5', JSON.stringify({ model: 'gpt-4o', max_tokens: 10, n: -5, messages })],
    [
      'a model name of two megabytes',
      JSON.stringify({ model: 'x'.repeat(2_000_000), max_tokens: 10, messages }),
    ],
    ['a model name with half a character', `{"model":"gpt-4o\\ud800","max_tokens":10,"messages":[]}`],
  ];

  test.each(bodies)(
    '%s is let through or refused for its size, and never upsets a budget',
    async (_name, raw) => {
      const { key, token, budgetId } = await onboardWithBudget({ amount_usd: 1, mode: 'hard' });
      const headers = { 'content-type': 'application/json' };
      const answer: Answer = await gateway.proxy(CHAT, { key, raw, headers });
      expect([200, 400, 404, 429]).toContain(answer.status);
      await gateway.logged(token, 1);
      await eventually(async () => {
        const budget = await readBudget(token, budgetId);
        expect(budget.reserved_microdollars).toBe(0);
        expect(budget.current_spend_microdollars).toBeGreaterThanOrEqual(0);
        expect(budget.current_spend_microdollars).toBeLessThanOrEqual(1_000_000);
      });
      const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token });
      expect(verified.valid).toBe(true);
    },
  );
});

describe('a call that crosses the end of a period', () => {
  test.each([
    ['daily', '2026-03-10T23:59:59.500Z', '2026-03-10T00:00:00.000Z'],
    ['weekly', '2026-03-15T23:59:59.500Z', '2026-03-09T00:00:00.000Z'],
    ['monthly', '2026-03-31T23:59:59.500Z', '2026-03-01T00:00:00.000Z'],
  ])('%s is counted once, in the one it was admitted in', async (period, admittedAt, periodStart) => {
    let nowMs = Date.parse(admittedAt);
    const node = await startGateway({ nowMs: () => nowMs });
    const tenant = await node.onboard();
    const made = await node.call('POST', '/v1/budgets', {
      token: tenant.token,
      body: { amount_usd: 0.01, mode: 'hard', period },
    });
    const { body, usage } = bodyThatReserves(CENT);
    node.simulator.script('prov_a', { usage, fault: 'hang', times: 1 });
    node.simulator.script('prov_a', { usage });
    const crossing = node.proxy(CHAT, { key: tenant.key, body });
    await node.simulator.arrived(1);
    // Its money is taken, so the period is full.
    expect((await node.proxy(CHAT, { key: tenant.key, body })).status).toBe(429);
    nowMs += 1_000;
    node.simulator.release();
    expect((await crossing).status).toBe(200);
    await eventually(async () => {
      const rows = await node.sql(
        `select period_start, committed_microdollars::int as spent from budget_periods
          where budget_id = $1 and committed_microdollars > 0`,
        [made.json.id],
      );
      expect(rows).toEqual([{ period_start: new Date(periodStart), spent: CENT }]);
    });
    // The new period has all of its own money.
    expect((await node.proxy(CHAT, { key: tenant.key, body })).status).toBe(200);
    await node.stop();
  });
});
