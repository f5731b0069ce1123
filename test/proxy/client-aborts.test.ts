import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';

/** gpt-4o-mini, USD per million tokens. */
const INPUT = 0.15;
const OUTPUT = 0.6;
const USAGE = { inputTokens: 1_000, outputTokens: 240 };
const CHUNKS = 24;
const BODY = {
  model: 'gpt-4o-mini',
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: 'user', content: 'twelve bytes' }],
};

/** Leaves once so many events have been read; before the head when it is -1. */
function leaveAfter(gateway: Gateway, key: string, events: number): Promise<void> {
  return new Promise((resolve) => {
    const request = http.request(`${gateway.proxyUrl}/v1/proxy/prov_a/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    request.on('error', () => {});
    request.on('close', () => resolve());
    request.on('response', (response) => {
      let text = '';
      const look = () => {
        if ((text.match(/data: /g) ?? []).length >= events) request.destroy();
      };
      response.on('error', () => {});
      response.on('data', (part) => {
        text += part;
        look();
      });
      look();
    });
    request.end(JSON.stringify(BODY));
    if (events < 0) void gateway.simulator.arrived(1).then(() => request.destroy());
  });
}

describe.each(['abort', 'drain'] as const)('when the client leaves and the gateway is to %s', (mode) => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({ env: { GATEWAY_ON_CLIENT_ABORT: mode } });
  });
  afterAll(() => gateway.stop());
  afterEach(() => {
    gateway.simulator.release();
    gateway.simulator.reset();
  });

  async function onlyRow(tenant: SignedUp) {
    await gateway.logged(tenant.token, 1);
    const [row] = await gateway.sql('select * from requests where tenant_id = $1', [tenant.tenantId]);
    return row!;
  }

  test.each([-1, 0, 1, 2, 5, 10, 20])('after %i events there is exactly one row', async (events) => {
    const tenant = await gateway.onboard();
    gateway.simulator.script('prov_a', {
      usage: USAGE,
      chunks: CHUNKS,
      chunkDelayMs: 10,
      delayMs: events < 0 ? 100 : 0,
    });
    await leaveAfter(gateway, tenant.key, events);
    await gateway.simulator.settled();
    const row = await onlyRow(tenant);
    const [call] = gateway.simulator.calls();
    expect(row).toMatchObject({ status_code: 499, refusal: null, sequence_number: 1 });
    if (mode === 'drain') {
      expect(call!.endedBy).toBe('complete');
      const billed = call!.usageBilled!;
      expect(row).toMatchObject({
        usage_source: 'provider',
        cost_microdollars: billed.inputTokens * INPUT + billed.outputTokens * OUTPUT,
      });
    } else {
      expect(call!.endedBy).toBe('client_abort');
      expect(row.cost_microdollars).toBeGreaterThanOrEqual(0);
      expect(row.usage_source).toBe(events < 0 ? 'none' : 'estimated');
      if (events >= 0) expect(row.cost_microdollars).toBeGreaterThan(0);
      expect(row.tokens_output).toBeLessThanOrEqual(USAGE.outputTokens);
    }
  });

  test('a hundred clients that leave at random leave a hundred rows and nothing open', async () => {
    const tenant = await gateway.onboard();
    gateway.simulator.script('prov_a', { usage: USAGE, chunks: CHUNKS, chunkDelayMs: 2 });
    await Promise.all(Array.from({ length: 100 }, (_, n) => leaveAfter(gateway, tenant.key, n % CHUNKS)));
    await gateway.simulator.settled();
    await gateway.logged(tenant.token, 100);
    const { json } = await gateway.call('GET', '/v1/ledger/verify', { token: tenant.token });
    expect(json).toMatchObject({ valid: true, records_checked: 100 });
    await eventually(async () => {
      const [count] = await gateway.sql('select count(*) as rows from requests where tenant_id = $1', [
        tenant.tenantId,
      ]);
      expect(Number(count!.rows)).toBe(100);
    });
  });
});
