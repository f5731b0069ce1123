import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const PRICES = { pricing_input_per_mtok: 1, pricing_output_per_mtok: 2 };

let gw: Gateway;
let clockMs = NOW;
let tenant: SignedUp & { key: string };

const operator = (method: string, path: string, body?: unknown) =>
  gw.call(method, `/v1/operator${path}`, { token: gw.operatorToken, body });
const outcome = async (method: string, path: string, body?: unknown) => {
  const { status, json } = await operator(method, path, body);
  return [status, json?.error];
};
const lastPlatformAudit = async () => (await operator('GET', '/audit?limit=1')).json.data[0];

beforeAll(async () => {
  gw = await startGateway({ nowMs: () => clockMs });
  tenant = await gw.onboard();
});
afterAll(() => gw.stop());

describe('models', () => {
  let id: string;

  test('are added with a price that is kept exactly, and only once', async () => {
    const created = await operator('POST', '/models', {
      provider: 'prov_d',
      model_id: 'added-1',
      model_family: 'added',
      context_window: 8192,
      pricing_input_per_mtok: 0.07,
      pricing_output_per_mtok: 1.000001,
      pricing_cache_write_per_mtok: 0.0875,
      long_context: { threshold_tokens: 4096, pricing_input_per_mtok: 0.14 },
      tier_multipliers: { batch: 0.5 },
      region_multipliers: { us: 1.1 },
      fees: { web_search_per_1k_usd: 10 },
    });
    expect(created.status).toBe(201);
    id = created.json.id;
    expect(created.json).toMatchObject({
      provider: 'prov_d',
      model_id: 'added-1',
      status: 'active',
      pricing_input_per_mtok: 0.07,
      pricing_output_per_mtok: 1.000001,
      long_context: { threshold_tokens: 4096, pricing_input_per_mtok: 0.14 },
      fees: { web_search_per_1k_usd: 10 },
      pricing_updated_at: new Date(clockMs).toISOString(),
      upcoming_prices: [],
    });
    const again = { provider: 'prov_d', model_id: 'added-1', ...PRICES };
    expect(await outcome('POST', '/models', again)).toEqual([409, 'conflict']);
    expect((await operator('POST', '/models', { ...again, provider: 'prov_a' })).status).toBe(201);
    expect(await lastPlatformAudit()).toMatchObject({ action: 'model.created', resource_type: 'model' });
  });

  test.each([
    ['no prices', {}],
    ['a misspelt price', { ...PRICES, pricing_cahced_per_mtok: 1 }],
    ['a misspelt fee', { ...PRICES, fees: { search: 1 } }],
    ['a negative price', { ...PRICES, pricing_input_per_mtok: -1 }],
    ['an absurd price', { ...PRICES, pricing_input_per_mtok: 1e9 }],
    ['seven decimals', { ...PRICES, pricing_input_per_mtok: 0.0000001 }],
    ['a price as text', { ...PRICES, pricing_input_per_mtok: 'free' }],
    ['a past start', { ...PRICES, effective_from: '2026-11-15T11:59:59Z' }],
    ['no time as start', { ...PRICES, effective_from: 'tomorrow' }],
    ['an unknown status', { ...PRICES, status: 'old' }],
  ])('with %s are refused, and nothing is left of them', async (_what, fields) => {
    const body = { provider: 'prov_d', model_id: 'refused-1', ...fields };
    expect(await outcome('POST', '/models', body)).toEqual([400, 'invalid_field']);
    expect((await operator('GET', '/models?search=refused-1')).json.total).toBe(0);
  });

  test('get a new price from now on; what is not named stays, null takes away', async () => {
    clockMs += 1000;
    const changed = await operator('PUT', `/models/${id}`, {
      pricing_input_per_mtok: 0.08,
      long_context: null,
    });
    expect(changed.json).toMatchObject({ pricing_input_per_mtok: 0.08, tier_multipliers: { batch: 0.5 } });
    expect(changed.json.long_context).toBeUndefined();
    const { json: history } = await operator('GET', `/models/${id}/prices`);
    expect(history).toHaveLength(2);
    clockMs += 1000;
    await operator('PUT', `/models/${id}`, { pricing_input_per_mtok: 0.08 });
    expect((await operator('GET', `/models/${id}/prices`)).json).toHaveLength(2);
  });

  test('are charged at the new price by the proxy within a second', async () => {
    gw.simulator.script('prov_d', { usage: { inputTokens: 1_000_000, outputTokens: 0 } });
    const body = { model: 'added-1', messages: [{ role: 'user', content: 'hello' }] };
    clockMs += 1000;
    await operator('PUT', `/models/${id}`, { pricing_input_per_mtok: 0.09 });
    await eventually(async () => {
      expect((await gw.proxy('/prov_d/chat/completions', { key: tenant.key, body })).status).toBe(200);
      const { json } = await gw.call('GET', '/v1/usage/requests?limit=1', { token: tenant.token });
      expect(json.data[0]).toMatchObject({ model_id: 'added-1', cost_microdollars: 90_000 });
    });
  });

  test('are deprecated or made inactive, and listed with all that', async () => {
    const deprecated = await operator('PUT', `/models/${id}`, {
      status: 'deprecated',
      context_window: 16_384,
    });
    expect(deprecated.json).toMatchObject({ status: 'deprecated', context_window: 16_384 });
    await operator('PUT', `/models/${id}`, { status: 'inactive' });
    const { json } = await operator('GET', '/models?status=inactive');
    expect(json.data.map((row: { id: string }) => row.id)).toEqual([id]);
    const { json: shown } = await gw.call('GET', '/v1/models', { token: tenant.token });
    expect(
      shown.some(
        (row: { model_id: string; provider: string }) =>
          row.model_id === 'added-1' && row.provider === 'prov_d',
      ),
    ).toBe(false);
  });

  test('that do not exist cannot be changed', async () => {
    expect(await outcome('PUT', '/models/nonsense', {})).toEqual([404, 'not_found']);
    expect(await outcome('PUT', '/models/00000000-0000-7000-8000-000000000000', {})).toEqual([
      404,
      'not_found',
    ]);
    expect(await outcome('GET', '/models/nonsense/prices')).toEqual([404, 'not_found']);
  });
});
