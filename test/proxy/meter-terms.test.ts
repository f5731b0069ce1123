import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Provider } from '../../src/contract/providers.ts';
import type { SimRule } from '../../src/simulator/index.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { billOf, LONG_FACTOR, LONG_THRESHOLD_TOKENS, priceModel, recorded } from './billing.ts';

const MESSAGES = [{ role: 'user', content: 'twelve bytes' }];
const USAGE = { inputTokens: 1_001, cachedTokens: 103, outputTokens: 499, reasoningTokens: 77 };

let gateway: Gateway;
let tenant: SignedUp & { key: string };
beforeAll(async () => {
  gateway = await startGateway();
  for (const provider of ['prov_a', 'prov_b', 'prov_c'] as const)
    await priceModel(gateway, provider, 'terms-model');
  await priceModel(gateway, 'prov_a', 'dearer-model', 3);
  tenant = await gateway.onboard();
});
afterAll(() => gateway.stop());
beforeEach(() => gateway.simulator.reset());

const CALLS: Record<
  'prov_a' | 'prov_b' | 'prov_c',
  (model: string) => { path: string; body: Record<string, unknown> }
> = {
  prov_a: (model) => ({ path: '/v1/chat/completions', body: { model, messages: MESSAGES } }),
  prov_b: (model) => ({ path: '/v1/messages', body: { model, max_tokens: 900, messages: MESSAGES } }),
  prov_c: (model) => ({
    path: `/v1beta/models/${model}:generateContent`,
    body: { contents: [{ parts: [{ text: 'x' }] }] },
  }),
};

async function meter(
  provider: keyof typeof CALLS,
  rule: SimRule,
  more: Record<string, unknown> = {},
  model = 'terms-model',
) {
  gateway.simulator.script(provider, { usage: USAGE, ...rule });
  const { path, body } = CALLS[provider](model);
  return call(provider, 'POST', path, { ...body, ...more });
}

async function call(provider: Provider, method: string, path: string, body?: unknown) {
  const answer = await gateway.proxy(`/${provider}${path}`, {
    key: tenant.key,
    method,
    headers: { 'anthropic-version': '2023-06-01' },
    ...(body !== undefined && { body }),
  });
  const row = await recorded(gateway, answer.headers.get('x-gateway-request-id'));
  return { answer, row, billed: gateway.simulator.calls().at(-1)!.usageBilled };
}

test.each([
  ['prov_a', { tier: 'flex' }, {}, 0.5, 'flex'],
  ['prov_a', { tier: 'priority' }, {}, 2, 'priority'],
  ['prov_a', { tier: 'default' }, { service_tier: 'priority' }, 1, null],
  ['prov_a', {}, { service_tier: 'flex' }, 0.5, 'flex'],
  // Priority capacity is paid for in advance there.
  ['prov_b', { tier: 'priority' }, {}, 1, null],
  ['prov_b', { tier: 'batch' }, {}, 0.25, 'batch'],
  ['prov_b', {}, { speed: 'fast' }, 6, 'fast'],
  ['prov_b', {}, { inference_geo: 'us' }, 1.1, null],
  ['prov_c', { tier: 'flex' }, {}, 0.5, 'flex'],
  ['prov_c', { tier: 'standard' }, { serviceTier: 'priority' }, 1, null],
] as const)(
  '%s %j asked with %j is billed %d times: by what was served',
  async (provider, rule, more, multiplier, tier) => {
    const { row, billed } = await meter(provider, rule, more);
    expect(row).toMatchObject({ cost_microdollars: billOf(billed!, multiplier), service_tier: tier });
  },
);

test('above the long-context threshold the whole request is re-priced, at it nothing is', async () => {
  const at = { inputTokens: LONG_THRESHOLD_TOKENS - 100, cachedTokens: 100, outputTokens: 500 };
  const below = await meter('prov_a', { usage: at, times: 1 });
  expect(below.row.cost_microdollars).toBe(billOf(below.billed!));
  const above = await meter('prov_a', { usage: { ...at, cachedTokens: 101 } });
  expect(above.row.cost_microdollars).toBe(billOf(above.billed!, LONG_FACTOR));
});

test('a search that was only declared costs nothing', async () => {
  const tools = [{ type: 'web_search' }];
  const { row, billed } = await meter('prov_a', { usage: { ...USAGE, webSearches: 0 } }, { tools });
  expect(row.cost_microdollars).toBe(billOf(billed!));
});

test('a call is billed at the rate of the name asked for and shown under the name served', async () => {
  const { row, billed } = await meter('prov_a', { model: 'dearer-model' });
  expect(row).toMatchObject({
    cost_microdollars: billOf(billed!),
    model_requested: 'terms-model',
    model_id: 'dearer-model',
  });
});

test('a name without a price takes that of the model served, with or without its date', async () => {
  for (const served of ['dearer-model', 'dearer-model-2026-11-15', 'dearer-model-20261115']) {
    gateway.simulator.reset();
    const { row, billed } = await meter('prov_a', { model: served }, {}, 'a-name-of-nobody');
    expect(row).toMatchObject({
      cost_microdollars: billOf(billed!, 3),
      model_id: served,
      cost_status: 'priced',
    });
  }
});

test('a model without any price costs 0, is marked, and never takes a similar one’s', async () => {
  for (const model of ['unpriced-model', 'terms-model-mini', 'terms-mode', 'gpt-4o-mini-unknown']) {
    const { row } = await meter('prov_a', {}, {}, model);
    expect(row).toMatchObject({
      cost_microdollars: 0,
      cost_status: 'unpriced',
      price_id: null,
      tokens_output: 499,
    });
  }
});

test('each record carries the price it was charged with', async () => {
  const { row } = await meter('prov_a', {});
  const [price] = await gateway.sql(
    'select models.model_id from prices join models on models.id = prices.model where prices.id = $1',
    [row.price_id],
  );
  expect(price).toMatchObject({ model_id: 'terms-model' });
});

test.each([
  ['prov_a', 'GET', '/v1/models', undefined],
  ['prov_a', 'POST', '/v1/moderations', { input: 'x' }],
  ['prov_a', 'GET', '/v1/batches/batch_1', undefined],
  ['prov_b', 'POST', '/v1/messages/count_tokens', { model: 'terms-model', messages: MESSAGES }],
  ['prov_b', 'GET', '/v1/models', undefined],
  ['prov_c', 'POST', '/v1beta/models/terms-model:countTokens', { contents: [] }],
  ['prov_c', 'GET', '/v1beta/models', undefined],
  ['prov_d', 'GET', '/models', undefined],
] as const)('%s %s %s is free', async (provider, method, path, body) => {
  const { answer, row } = await call(provider, method, path, body);
  expect(answer.status).toBe(200);
  expect(row).toMatchObject({ cost_microdollars: 0, cost_status: 'free', tokens_input: 0, tokens_output: 0 });
});

test('reading a stored response again costs nothing, streamed or not', async () => {
  gateway.simulator.script('prov_a', { usage: USAGE });
  const first = await call('prov_a', 'POST', '/v1/responses', { model: 'terms-model', input: 'x' });
  expect(first.row.cost_microdollars).toBe(billOf(first.billed!));
  for (const query of ['', '?stream=true']) {
    const again = await call('prov_a', 'GET', `/v1/responses/${first.answer.json.id}${query}`);
    expect(again.answer.status).toBe(200);
    expect(again.row).toMatchObject({ cost_microdollars: 0, tokens_input: 0, tokens_output: 0 });
  }
});

test.each([
  { prompt_tokens: -5, completion_tokens: 10 },
  { prompt_tokens: 1e308, completion_tokens: 1e308 },
  { prompt_tokens: '12', completion_tokens: null },
  { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 99 } },
  { prompt_tokens: 1.5, completion_tokens: 2.5 },
  [],
  'many',
])('absurd usage %j never makes a cost negative, and the chain stays whole', async (rawUsage) => {
  const { row } = await meter('prov_a', { rawUsage });
  expect(row.cost_microdollars).toBeGreaterThanOrEqual(0);
  expect(Number.isSafeInteger(row.cost_microdollars)).toBe(true);
  const { json } = await gateway.call('GET', '/v1/ledger/verify', { token: tenant.token });
  expect(json.valid).toBe(true);
});
