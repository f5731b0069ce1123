import { afterAll, beforeAll, expect, test } from 'vitest';
import { SEED_MODELS } from '../../src/server/domain/seed-prices.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const MODEL = '019ce000-0000-7000-8000-00000000000a';

let gw: Gateway;
let tenant: SignedUp;

async function list(query = '') {
  const { status, json } = await gw.call('GET', `/v1/models${query}`, { token: tenant.token });
  expect(status).toBe(200);
  return json as Array<Record<string, unknown> & { model_id: string; provider: string }>;
}
const find = async (modelId: string) => (await list()).find((model) => model.model_id === modelId);

async function price(id: string, effectiveFrom: string, input: string) {
  await gw.sql('insert into prices (id, model, effective_from, price, source) values ($1, $2, $3, $4, $5)', [
    id,
    MODEL,
    effectiveFrom,
    { pricing_input_per_mtok: input, pricing_output_per_mtok: '10.000001', pricing_cached_per_mtok: '0' },
    'test',
  ]);
}

beforeAll(async () => {
  gw = await startGateway({ nowMs: () => NOW });
  tenant = await gw.signUp();
  await gw.sql(
    `insert into models (id, provider, model_id, model_family, context_window) values ($1, 'prov_d', 'made-up', 'made', 8192)`,
    [MODEL],
  );
  await price('019ce000-0000-7000-8000-000000000001', '2026-01-01T00:00:00Z', '9');
  await price('019ce000-0000-7000-8000-000000000002', '2026-11-15T12:00:00Z', '0.15');
  await price('019ce000-0000-7000-8000-000000000003', '2026-11-15T12:00:01Z', '99');
});
afterAll(() => gw.stop());

test('shows the price in force now, as numbers, and since when', async () => {
  expect(await find('made-up')).toEqual({
    model_id: 'made-up',
    provider: 'prov_d',
    model_family: 'made',
    pricing_input_per_mtok: 0.15,
    pricing_output_per_mtok: 10.000001,
    pricing_cached_per_mtok: 0,
    pricing_cache_write_per_mtok: null,
    pricing_cache_write_1h_per_mtok: null,
    context_window: 8192,
    status: 'active',
    pricing_updated_at: '2026-11-15T12:00:00.000Z',
  });
});

test('has every model the program ships a price for, each once', async () => {
  const shipped = SEED_MODELS.filter((model) => model.prices.some((row) => row.effective_from <= NOW));
  const listed = (await list()).map((model) => `${model.provider} ${model.model_id}`);
  expect(new Set(listed).size).toBe(listed.length);
  expect(listed).toEqual(expect.arrayContaining(shipped.map((row) => `${row.provider} ${row.model_id}`)));
});

test('can be asked for one provider', async () => {
  const models = await list('?provider=prov_b');
  expect(models.length).toBeGreaterThan(0);
  expect(new Set(models.map((model) => model.provider))).toEqual(new Set(['prov_b']));
  const { status, json } = await gw.call('GET', '/v1/models?provider=prov_x', { token: tenant.token });
  expect([status, json.error]).toEqual([400, 'invalid_field']);
});

test('leaves out inactive models and keeps deprecated ones', async () => {
  await gw.sql("update models set status = 'deprecated' where id = $1", [MODEL]);
  expect(await find('made-up')).toMatchObject({ status: 'deprecated' });
  await gw.sql("update models set status = 'inactive' where id = $1", [MODEL]);
  expect(await find('made-up')).toBeUndefined();
});

test('asks for a token', async () => {
  expect((await gw.call('GET', '/v1/models')).json.error).toBe('missing_auth');
});
