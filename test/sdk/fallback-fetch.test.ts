import { createServer } from 'node:http';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type FallbackOptions, fallbackFetch } from '../../src/sdk/fallback-fetch.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';

const ASKED = { model: 'gpt-4o-mini', messages: [{ role: 'user' as const, content: 'hi' }] };
const PROVIDER_KEY = 'sk-of-the-provider';

let gateway: Gateway;
let tenant: SignedUp & { key: string };
/** Nobody listens there any more. */
let nowhere: string;
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.onboard();
  const { url, close } = await answering503({}, '');
  nowhere = new URL(url).origin;
  await close();
});
afterAll(() => gateway.stop());
afterEach(() => gateway.simulator.reset());

function openai(options: Partial<FallbackOptions> = {}) {
  const causes: string[] = [];
  const gatewayUrl = options.gatewayUrl ?? `${gateway.proxyUrl}/v1/proxy/prov_a/v1`;
  const client = new OpenAI({
    apiKey: tenant.key,
    baseURL: gatewayUrl,
    maxRetries: 0,
    defaultHeaders: { 'X-Gateway-Team': 'web' },
    fetch: fallbackFetch({
      gatewayUrl,
      gatewayKey: tenant.key,
      providerUrl: `${gateway.simulator.providerUrl('prov_a')}/v1`,
      providerKey: PROVIDER_KEY,
      onFallback: (cause) => causes.push(cause),
      ...options,
    }),
  });
  return { client, causes };
}

/** How the one call looked that reached the provider. */
function arrived() {
  const calls = gateway.simulator.calls();
  expect(calls).toHaveLength(1);
  return calls[0]!;
}

async function answering503(headers: Record<string, string>, body: string) {
  const server = createServer((_request, response) => response.writeHead(503, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

test('a call goes through the gateway as long as it answers', async () => {
  const { client, causes } = openai();
  await client.chat.completions.create(ASKED);
  expect(arrived().rawHeaders.join()).not.toContain(PROVIDER_KEY);
  expect(causes).toEqual([]);
  await gateway.logged(tenant.token, 1);
});

test('a gateway nobody can reach is gone around, with the provider’s key and nothing of the gateway’s', async () => {
  const { client, causes } = openai({ gatewayUrl: `${nowhere}/v1` });
  const answer = await client.chat.completions.create(ASKED);
  expect(answer.choices).toHaveLength(1);
  const { rawHeaders, rawPath } = arrived();
  expect(rawPath).toBe('/v1/chat/completions');
  expect(rawHeaders).toContain(`Bearer ${PROVIDER_KEY}`);
  expect(rawHeaders.join()).not.toMatch(/gw_live_|x-gateway/i);
  expect(causes).toEqual([expect.stringContaining('cannot be reached')]);
});

test('so it is when a stream is asked for, and for a key in the query', async () => {
  const { client } = openai({ gatewayUrl: `${nowhere}/v1` });
  const stream = await client.chat.completions.create({ ...ASKED, stream: true });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  expect(text).not.toBe('');
  gateway.simulator.reset();
  const fallback = fallbackFetch({
    gatewayUrl: nowhere,
    gatewayKey: tenant.key,
    providerUrl: gateway.simulator.providerUrl('prov_c'),
    providerKey: PROVIDER_KEY,
  });
  const path = '/v1beta/models/gemini-2.5-flash:generateContent';
  const answer = await fallback(`${nowhere}${path}?key=${tenant.key}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ contents: [{ parts: [{ text: 'hi' }] }] }),
  });
  expect(answer.status).toBe(200);
  expect(arrived().rawTarget).toContain(`key=${PROVIDER_KEY}`);
  expect(JSON.stringify(arrived())).not.toContain(tenant.key);
});

test('without a provider key the call fails as the gateway’s did', async () => {
  const { client } = openai({ gatewayUrl: `${nowhere}/v1`, providerKey: undefined });
  await expect(client.chat.completions.create(ASKED)).rejects.toThrow(/Connection error/);
  expect(gateway.simulator.calls()).toEqual([]);
});

test.each([
  ['the gateway’s own', { 'x-gateway-request-id': 'x' }, '{"error":"unavailable","message":"…"}', 1],
  ['one of a load balancer before it', {}, 'no healthy upstream', 1],
  ['the provider’s, passed on', { 'x-gateway-request-id': 'x' }, '{"error":{"type":"overloaded"}}', 0],
])('a 503, %s', async (_name, headers, body, direct) => {
  const away = await answering503(headers, body);
  const { client, causes } = openai({ gatewayUrl: away.url });
  const outcome = await client.chat.completions.create(ASKED).then(
    () => 200,
    (fault) => fault.status,
  );
  await away.close();
  expect([outcome, gateway.simulator.calls().length, causes.length]).toEqual([
    direct ? 200 : 503,
    direct,
    direct,
  ]);
});

test('refusals are answers: a killed or unknown key is not taken around the gateway', async () => {
  const other = await gateway.onboard();
  const options = { gatewayKey: other.key };
  const { client } = openai(options);
  client.apiKey = other.key;
  await gateway.call('POST', '/v1/kill', { token: other.token, body: { scope_type: 'all' } });
  await expect(client.chat.completions.create(ASKED)).rejects.toMatchObject({ status: 451 });
  client.apiKey = 'gw_live_nobody';
  await expect(client.chat.completions.create(ASKED)).rejects.toMatchObject({ status: 401 });
  expect(gateway.simulator.calls()).toEqual([]);
});

test('a connection that breaks after the request went out is not tried again: it may have been billed', async () => {
  const breaking = createServer((request) => request.socket.destroy());
  await new Promise<void>((resolve) => breaking.listen(0, '127.0.0.1', resolve));
  const { port } = breaking.address() as { port: number };
  const { client } = openai({ gatewayUrl: `http://127.0.0.1:${port}/v1` });
  await expect(client.chat.completions.create(ASKED)).rejects.toThrow(/Connection error/);
  expect(gateway.simulator.calls()).toEqual([]);
  breaking.close();
});
