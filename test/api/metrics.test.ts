import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

test('metrics tell what the proxy did, in Prometheus text with bounded labels', async () => {
  const { key } = await gateway.onboard();
  gateway.simulator.script('prov_a', { usage: { inputTokens: 218, outputTokens: 13 } });
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
  await gateway.proxy('/prov_a/v1/chat/completions', { key, body });
  await gateway.proxy('/prov_a/v1/chat/completions', { key: 'gw_live_nobody', body });
  const { status, headers, text } = await gateway.call('GET', '/metrics');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('text/plain');
  for (const line of [
    'gateway_requests_total{provider="prov_a",status="2xx"} 1',
    'gateway_unauthenticated_total 1',
    'gateway_cost_microdollars_total{provider="prov_a"} 41',
    'gateway_tokens_total{provider="prov_a",direction="input"} 218',
    'gateway_request_seconds_count{provider="prov_a"} 1',
    'gateway_journal_writable 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  expect(text).toMatch(/^gateway_pool_connections\{pool="ingest",state="total"\} \d+$/m);
});

test('what somebody else’s address asks for needs the operator token', async () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.9' };
  expect((await gateway.call('GET', '/metrics', { headers: forwarded })).status).toBe(401);
  const asOperator = await gateway.call('GET', '/metrics', {
    headers: forwarded,
    token: gateway.operatorToken,
  });
  expect(asOperator.status).toBe(200);
});
