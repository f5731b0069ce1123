import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';

let gw: Gateway;
let other: Gateway;
let tenant: Awaited<ReturnType<Gateway['onboard']>>;
let calls = 0;

beforeAll(async () => {
  gw = await startGateway();
  other = await startGateway({ databaseUrl: gw.databaseUrl, simulator: gw.simulator });
});
beforeEach(async () => {
  tenant = await gw.onboard();
  calls = 0;
});
afterAll(async () => {
  await other.stop();
  await gw.stop();
});

/** One call answered by a model of the provider's choice, and on record before the next. */
async function call(model: string, servedModel: string, node = gw, status = 200): Promise<void> {
  gw.simulator.script('prov_a', { model: servedModel, ...(status === 200 ? {} : { status }), times: 1 });
  const body = { model, messages: [{ role: 'user', content: 'hi' }] };
  await node.proxy('/prov_a/v1/chat/completions', { key: tenant.key, body });
  calls += 1;
  await gw.logged(tenant.token, calls);
}

async function alerts() {
  const { json } = await gw.call('GET', '/v1/alerts', { token: tenant.token });
  return json.data as Array<{ alert_type: string; severity: string; title: string; metadata: object }>;
}

describe('a name answered by another model than before', () => {
  it('raises one alert, whichever node sees it and however often', async () => {
    await call('gpt-5', 'gpt-5-2025-08-07');
    await call('gpt-5', 'gpt-5-2025-08-07', other);
    expect(await alerts()).toEqual([]);
    await call('gpt-5', 'gpt-4o-mini', other);
    await call('gpt-5', 'gpt-4o-mini');
    await call('gpt-5', 'gpt-5-2025-08-07');
    await call('gpt-5', 'gpt-4o-mini', other);
    expect(await alerts()).toMatchObject([
      {
        alert_type: 'model_change',
        severity: 'warning',
        title: 'gpt-5 is now answered by gpt-4o-mini',
        metadata: {
          change: 'served_model',
          provider: 'prov_a',
          model_requested: 'gpt-5',
          previous_model: 'gpt-5-2025-08-07',
          new_model: 'gpt-4o-mini',
        },
      },
    ]);
  });

  it('is only of interest when it is a new release of the same model', async () => {
    await call('gpt-5', 'gpt-5-2025-08-07');
    await call('gpt-5', 'gpt-5-2026-01-01');
    expect(await alerts()).toMatchObject([{ severity: 'info' }]);
  });

  it('is nothing to a tenant who uses the name for the first time', async () => {
    await call('gpt-5', 'gpt-5-2025-08-07');
    tenant = await gw.onboard();
    calls = 0;
    await call('gpt-5', 'gpt-4o-mini');
    expect(await alerts()).toEqual([]);
  });

  it('is not noticed in an answer that failed', async () => {
    await call('gpt-5', 'gpt-5-2025-08-07');
    await call('gpt-5', 'gpt-4o-mini', gw, 500);
    expect(await alerts()).toEqual([]);
  });
});

describe('a model without a price', () => {
  it('raises one alert per tenant and model', async () => {
    await call('house-model-1', 'house-model-1');
    await call('house-model-1', 'house-model-1', other);
    await call('house-model-1', 'house-model-1');
    await call('house-model-2', 'house-model-2');
    await eventually(async () => expect(await alerts()).toHaveLength(2));
    expect(await alerts()).toMatchObject([
      { metadata: { change: 'unpriced', model_id: 'house-model-2' } },
      {
        alert_type: 'model_change',
        severity: 'warning',
        title: 'No price is known for house-model-1: its requests count as $0 until there is one',
        metadata: { change: 'unpriced', provider: 'prov_a', model_id: 'house-model-1' },
      },
    ]);
  });
});
