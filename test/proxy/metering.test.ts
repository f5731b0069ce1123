import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

test('a call is forwarded unchanged, metered to the microdollar, chained and visible in usage', async () => {
  const { key, token } = await gateway.onboard();
  gateway.simulator.script('prov_a', { usage: { inputTokens: 218, outputTokens: 13 } });
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] };
  const answer = await gateway.proxy('/prov_a/v1/chat/completions', { key, body });
  expect(answer.status).toBe(200);
  await gateway.logged(token, 1);
  const { json: page } = await gateway.call('GET', '/v1/usage/requests', { token });
  expect(page.data[0]).toMatchObject({
    cost_microdollars: 41,
    tokens_input: 218,
    tokens_output: 13,
    cost_usd: '0.000041',
  });
  const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token });
  expect(verified).toMatchObject({ valid: true, records_checked: 1 });
});
