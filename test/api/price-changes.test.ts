import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { recordRequests } from './recorded-requests.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const DAY_MS = 86_400_000;

let gw: Gateway;
let clockMs = NOW;
let user: SignedUp;
let dated: SignedUp;
let bystander: SignedUp;
let suspended: SignedUp;
let modelId: string;
let changeId: string;

const operator = (method: string, path: string, body?: unknown) =>
  gw.call(method, `/v1/operator${path}`, { token: gw.operatorToken, body });
const changesOf = async (tenant: SignedUp) =>
  (await gw.call('GET', '/v1/models/changes', { token: tenant.token })).json;
const alertsOf = (tenant: SignedUp) =>
  gw.sql<{
    cause: string;
    severity: string;
    title: string;
    acknowledged: boolean;
    metadata: Record<string, unknown>;
  }>(
    `select cause, severity, title, acknowledged, metadata from alerts
      where tenant_id = $1 and alert_type = 'pricing_change'`,
    [tenant.tenantId],
  );
const used = (
  model: string,
  daysAgo: number,
  tokens: { input: number; cached?: number; output: number },
) => ({
  created_at: new Date(NOW - daysAgo * DAY_MS).toISOString(),
  provider: 'prov_a' as const,
  model_requested: model,
  model_id: model,
  tokens_input: tokens.input,
  tokens_output: tokens.output,
  usage: {
    input: tokens.input - (tokens.cached ?? 0),
    cached_read: tokens.cached ?? 0,
    output: tokens.output,
  } as never,
  cost_microdollars: 5_000_000,
  reservations: [],
});

beforeAll(async () => {
  gw = await startGateway({ nowMs: () => clockMs });
  [user, dated, bystander, suspended] = [
    await gw.signUp(),
    await gw.signUp(),
    await gw.signUp(),
    await gw.signUp(),
  ];
  const created = await operator('POST', '/models', {
    provider: 'prov_a',
    model_id: 'mill-1',
    pricing_input_per_mtok: 1.25,
    pricing_cached_per_mtok: 0.125,
    pricing_output_per_mtok: 10,
  });
  expect(created.status).toBe(201);
  modelId = created.json.id;
  await recordRequests(gw, user.tenantId, [
    used('mill-1', 1, { input: 2_000_000, cached: 500_000, output: 300_000 }),
    used('mill-1', 29, { input: 1_000_000, output: 100_000 }),
    used('mill-1', 31, { input: 9_000_000, output: 9_000_000 }),
    used('gpt-5', 1, { input: 4_000_000, output: 1_000_000 }),
  ]);
  await recordRequests(gw, suspended.tenantId, [used('mill-1', 1, { input: 1_000_000, output: 0 })]);
  await operator('PUT', `/tenants/${suspended.tenantId}`, { status: 'suspended' });
  await recordRequests(gw, dated.tenantId, [used('mill-1-20261101', 2, { input: 1_000_000, output: 0 })]);
  await recordRequests(gw, bystander.tenantId, [
    used('gpt-5', 1, { input: 1_000_000, output: 0 }),
    used('mill-12', 1, { input: 1_000_000, output: 0 }),
    used('mill-1', 31, { input: 1_000_000, output: 0 }),
  ]);
});
afterAll(() => gw.stop());

describe('a price change', () => {
  test('is shown to the tenants who used the model in the last 30 days, with the effect on their own bill', async () => {
    clockMs += 1000;
    const changed = await operator('PUT', `/models/${modelId}`, {
      pricing_input_per_mtok: 1.5,
      pricing_cached_per_mtok: 0.15,
      note: 'as the provider announced',
    });
    expect(changed.status).toBe(200);
    const [change] = await changesOf(user);
    changeId = change.id;
    expect(change).toMatchObject({
      provider: 'prov_a',
      model_id: 'mill-1',
      old_price: { pricing_input_per_mtok: 1.25, pricing_output_per_mtok: 10 },
      new_price: { pricing_input_per_mtok: 1.5, pricing_output_per_mtok: 10 },
      differences: [
        { field: 'pricing_input_per_mtok', old: 1.25, new: 1.5 },
        { field: 'pricing_cached_per_mtok', old: 0.125, new: 0.15 },
      ],
      note: 'as the provider announced',
      status: 'active',
      // 2,500,000 × 0.25 + 500,000 × 0.025
      estimate: {
        window_days: 30,
        tokens_input: 3_000_000,
        tokens_cached: 500_000,
        tokens_output: 400_000,
        spend_microdollars: 10_000_000,
        monthly_effect_microdollars: 637_500,
        monthly_effect_usd: '0.637500',
      },
    });
    expect(change.estimate.assumptions.length).toBeGreaterThan(0);
    expect((await changesOf(dated))[0].estimate.monthly_effect_microdollars).toBe(250_000);
    expect(await changesOf(bystander)).toEqual([]);
  });

  test('raises one alert for each of them and nobody else', async () => {
    await eventually(async () => {
      const { json } = await operator('GET', '/models/changes');
      expect(json.data[0]).toMatchObject({ id: changeId, tenants_notified: 2, applied: true });
    });
    const [alert, ...more] = await alertsOf(user);
    expect(more).toEqual([]);
    expect(alert).toMatchObject({
      cause: `price:${changeId}`,
      severity: 'warning',
      title:
        'mill-1: input $1.25 → $1.5, cached input $0.125 → $0.15 per million tokens from 2026-11-15, about +$0.64 a month at your volume',
      metadata: { price_change_id: changeId, estimated_monthly_effect_microdollars: 637_500 },
    });
    expect(await alertsOf(dated)).toHaveLength(1);
    expect(await alertsOf(bystander)).toEqual([]);
    expect(await alertsOf(suspended)).toEqual([]);
  });

  test('never re-prices what was charged', async () => {
    const [sum] = await gw.sql(
      'select sum(cost_microdollars)::int as cost from ledger_records where tenant_id = $1',
      [user.tenantId],
    );
    expect(sum).toEqual({ cost: 20_000_000 });
  });

  test('moves to the history when it is acknowledged, and its alert is settled', async () => {
    const path = `/v1/models/changes/${changeId}`;
    const acknowledged = await gw.call('POST', `${path}/acknowledge`, { token: user.token });
    expect([acknowledged.status, acknowledged.json.status]).toEqual([200, 'acknowledged']);
    expect(await changesOf(user)).toEqual([]);
    const { json: history } = await gw.call('GET', '/v1/models/changes-history', { token: user.token });
    expect(history).toMatchObject({
      total: 1,
      data: [{ id: changeId, status: 'acknowledged', decided_by: user.email }],
    });
    expect((await alertsOf(user))[0]?.acknowledged).toBe(true);
    expect((await changesOf(dated))[0].status).toBe('active');
    const dismissed = await gw.call('POST', `${path}/dismiss`, { token: user.token });
    expect(dismissed.json.status).toBe('dismissed');
    const { json: audit } = await gw.call('GET', '/v1/audit?limit=2', { token: user.token });
    expect(audit.data.map((row: { action: string }) => row.action)).toEqual([
      'price_change.dismissed',
      'price_change.acknowledged',
    ]);
  });

  test('does not exist for a tenant it does not concern', async () => {
    const answers = [changeId, 'nonsense', '019ce000-0000-7000-8000-000000000009'].map((id) =>
      gw.call('POST', `/v1/models/changes/${id}/acknowledge`, { token: bystander.token }),
    );
    for (const answer of await Promise.all(answers))
      expect([answer.status, answer.json.error]).toEqual([404, 'not_found']);
  });

  test('is no longer active after 30 days', async () => {
    clockMs += 31 * DAY_MS;
    await recordRequests(gw, dated.tenantId, [
      { ...used('mill-1', 0, { input: 1, output: 0 }), created_at: new Date(clockMs).toISOString() },
    ]);
    const { json: session } = await gw.call('POST', '/v1/auth/login', { body: dated });
    dated = { ...dated, token: session.token };
    expect(await changesOf(dated)).toEqual([]);
  });
});

describe('an announcement', () => {
  test('tells now, and puts the price in force when its time comes', async () => {
    const effectiveAt = new Date(clockMs + 10 * DAY_MS).toISOString();
    const announced = await operator('POST', '/models/changes', {
      provider: 'prov_a',
      model_id: 'mill-1',
      effective_at: effectiveAt,
      pricing_output_per_mtok: 12,
      source: 'https://example.com/news',
    });
    expect(announced.status).toBe(201);
    expect(announced.json).toMatchObject({
      applied: true,
      effective_at: effectiveAt,
      source: 'https://example.com/news',
    });
    expect((await changesOf(dated))[0]).toMatchObject({ effective_at: effectiveAt });
    const price = async () =>
      (await gw.call('GET', '/v1/models?provider=prov_a', { token: dated.token })).json.find(
        (row: { model_id: string }) => row.model_id === 'mill-1',
      ).pricing_output_per_mtok;
    expect(await price()).toBe(10);
    const { json: listed } = await operator('GET', '/models?search=mill-1');
    expect(listed.data[0].upcoming_prices).toMatchObject([{ effective_from: effectiveAt }]);
  });

  test('can only tell, and leaves the price book alone', async () => {
    const body = { provider: 'prov_a', model_id: 'mill-1', pricing_output_per_mtok: 9, apply: false };
    const announced = await operator('POST', '/models/changes', body);
    expect([announced.status, announced.json.applied]).toEqual([201, false]);
    const { json: history } = await operator('GET', `/models/${modelId}/prices`);
    expect(
      history.map((row: { price: Record<string, number> }) => row.price.pricing_output_per_mtok),
    ).toEqual([12, 10, 10]);
  });

  test('of what is so already, of a past time or of an unknown model is refused', async () => {
    const post = async (body: Record<string, unknown>) => {
      const answer = await operator('POST', '/models/changes', {
        provider: 'prov_a',
        model_id: 'mill-1',
        ...body,
      });
      return [answer.status, answer.json.error];
    };
    expect(await post({ pricing_output_per_mtok: 10 })).toEqual([409, 'conflict']);
    const past = new Date(clockMs - 1000).toISOString();
    expect(await post({ pricing_output_per_mtok: 11, effective_at: past })).toEqual([400, 'invalid_field']);
    expect(await post({ model_id: 'no-such', pricing_output_per_mtok: 11 })).toEqual([404, 'not_found']);
    expect(await post({ pricing_output_per_mtok: -1 })).toEqual([400, 'invalid_field']);
    expect(await post({ pricing_outptu_per_mtok: 11 })).toEqual([400, 'invalid_field']);
  });
});
