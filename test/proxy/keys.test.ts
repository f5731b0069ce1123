import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { makeApiKey } from '../../src/server/domain/api-keys.ts';
import { Snapshots } from '../../src/server/proxy/snapshot.ts';
import type { RecordedCall } from '../../src/simulator/index.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
const MESSAGE = { model: 'claude-sonnet-4-5', max_tokens: 10, messages: CHAT.messages };
const CONTENT = { contents: [{ parts: [{ text: 'hi' }] }] };
const PATHS = {
  prov_a: '/v1/chat/completions',
  prov_b: '/v1/messages',
  prov_c: '/v1beta/models/gemini-2.5-flash:generateContent',
  prov_d: '/chat/completions',
};
const BODIES = {
  prov_a: CHAT,
  prov_b: MESSAGE,
  prov_c: CONTENT,
  prov_d: { ...CHAT, model: 'deepseek-chat' },
};
type ProviderName = keyof typeof PATHS;
const NAMES = ['prov_a', 'prov_b', 'prov_c', 'prov_d'] as const;
const ALIASES = { openai: 'prov_a', anthropic: 'prov_b', gemini: 'prov_c', deepseek: 'prov_d' } as const;

let gateway: Gateway;
let tenant: SignedUp & { key: string; keyId: string };
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.onboard();
});
afterAll(() => gateway.stop());
afterEach(() => gateway.simulator.reset());

function send(prefix: string, provider: ProviderName, headers: Record<string, string>, query = '') {
  return fetch(`${gateway.proxyUrl}/v1/proxy/${prefix}${PATHS[provider]}${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify(BODIES[provider]),
  });
}

function onlyCall(): RecordedCall {
  expect(gateway.simulator.calls()).toHaveLength(1);
  return gateway.simulator.calls()[0]!;
}

/** Every credential the upstream was sent, as `name: value`. */
function credentials(call: RecordedCall): string[] {
  const found: string[] = [];
  for (let index = 0; index < call.rawHeaders.length; index += 2) {
    const name = call.rawHeaders[index]!.toLowerCase();
    if (/auth|key|cookie|token/.test(name)) found.push(`${name}: ${call.rawHeaders[index + 1]}`);
  }
  return found;
}

const OURS = {
  prov_a: 'authorization: Bearer sk-upstream-prov_a',
  prov_b: 'x-api-key: sk-upstream-prov_b',
  prov_c: 'x-goog-api-key: sk-upstream-prov_c',
  prov_d: 'authorization: Bearer sk-upstream-prov_d',
};

test.each(NAMES)('%s takes the key as a bearer token and sends its own credential on', async (provider) => {
  const answer = await send(provider, provider, { authorization: `Bearer ${tenant.key}` });
  expect(answer.status).toBe(200);
  expect(credentials(onlyCall())).toEqual([OURS[provider]]);
});

test.each(Object.entries(ALIASES))('the path name %s means %s', async (alias, provider) => {
  const answer = await send(alias, provider, { authorization: `bearer  ${tenant.key}` });
  expect(answer.status).toBe(200);
  expect(onlyCall()).toMatchObject({ provider, rawPath: PATHS[provider] });
});

test.each([
  ['prov_b', 'x-api-key'],
  ['prov_d', 'x-api-key'],
  ['prov_c', 'x-goog-api-key'],
] as const)('%s takes the key in %s', async (provider, header) => {
  const answer = await send(provider, provider, { [header]: tenant.key });
  expect(answer.status).toBe(200);
  expect(credentials(onlyCall())).toEqual([OURS[provider]]);
});

test.each([
  [`?key=KEY`, ''],
  [`?alt=json&key=KEY&x=%20y`, '?alt=json&x=%20y'],
  [`?k%65y=KEY&alt=json`, '?alt=json'],
  [`?key=gw%5FREST`, ''],
  [`?key=KEY&key=second&access_token=ya29&%24key=a&other=gw_KEYREST`, ''],
])('prov_c takes the key as a query parameter and removes it: %s', async (query, sentOn) => {
  const rest = tenant.key.slice('gw_'.length);
  const filled = query
    .replaceAll('gw_KEYREST', tenant.key)
    .replace('gw%5FREST', `gw%5F${rest}`)
    .replaceAll('KEY', tenant.key);
  const answer = await send('prov_c', 'prov_c', {}, filled);
  expect(answer.status).toBe(200);
  const call = onlyCall();
  expect(call.rawPath).toBe(PATHS.prov_c + sentOn);
  expect(credentials(call)).toEqual([OURS.prov_c]);
});

test('a key in a place that is not the provider’s own is no key', async () => {
  expect((await send('prov_a', 'prov_a', { 'x-api-key': tenant.key })).status).toBe(401);
  expect((await send('prov_b', 'prov_b', { 'x-goog-api-key': tenant.key })).status).toBe(401);
  expect((await send('prov_a', 'prov_a', {}, `?key=${tenant.key}`)).status).toBe(401);
  expect((await send('prov_c', 'prov_c', { 'x-api-key': tenant.key })).status).toBe(401);
  expect(gateway.simulator.calls()).toHaveLength(0);
});

test('a credential of the provider’s beside the key does not hide it', async () => {
  const beside = { authorization: 'Bearer ya29.google', 'x-goog-api-key': tenant.key };
  expect((await send('prov_c', 'prov_c', beside)).status).toBe(200);
  expect(
    (await send('prov_b', 'prov_b', { authorization: `Bearer ${tenant.key}`, 'x-api-key': 'sk-ant' })).status,
  ).toBe(200);
  expect(gateway.simulator.calls().map(credentials)).toEqual([[OURS.prov_c], [OURS.prov_b]]);
});

test.each(NAMES)('%s gets exactly one credential, ours, whatever the client sent', async (provider) => {
  const other = makeApiKey('production', Buffer.alloc(32, 7));
  const answer = await send(
    provider,
    provider,
    {
      authorization: `Bearer ${tenant.key}`,
      'x-api-key': 'sk-client',
      'x-goog-api-key': 'AIza-client',
      'api-key': 'azure-client',
      'x-auth-token': 'client',
      cookie: `session=${tenant.key}`,
      'proxy-authorization': `Basic ${tenant.key}`,
      'x-trace': `before ${tenant.key} after`,
      'x-encoded': `gw%5F${tenant.key.slice(3)}`,
      'x-another': other,
      referer: `https://example.com/?key=${tenant.key}`,
    },
    `?a=${tenant.key}&b=2&c=x${other}`,
  );
  expect(answer.status).toBe(200);
  const call = onlyCall();
  expect(credentials(call)).toEqual([OURS[provider]]);
  expect(call.rawPath).toBe(`${PATHS[provider]}?b=2`);
  const everything = [call.rawTarget, ...call.rawHeaders, call.body.toString()].join('\n');
  expect(everything).not.toMatch(/gw_|gw%5F|client/i);
});

test('a key in the path is refused, not sent on', async () => {
  for (const spelling of [
    tenant.key,
    tenant.key.replace('gw_', 'gw%5f'),
    tenant.key.replace('gw_', '%67w%255F'),
  ]) {
    const answer = await gateway.proxy(`/prov_a/v1/files/${spelling}`, { key: tenant.key, method: 'GET' });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_path' } });
  }
  expect(gateway.simulator.calls()).toHaveLength(0);
});

test('a provider key never comes back in a header', async () => {
  gateway.simulator.script('prov_a', {
    headers: { 'x-echo': 'Bearer sk-upstream-prov_a', location: '/?key=sk-upstream-prov_a', 'x-fine': 'yes' },
  });
  const answer = await gateway.proxy('/prov_a/v1/chat/completions', { key: tenant.key, body: CHAT });
  expect(answer.headers.get('x-fine')).toBe('yes');
  expect(JSON.stringify([...answer.headers])).not.toContain('sk-upstream');
});

test('what cannot be a key is refused without a look at the store', async () => {
  const looks = [vi.spyOn(Snapshots.prototype, 'findKey'), vi.spyOn(Snapshots.prototype, 'peekKey')];
  const lastChanged = tenant.key.slice(0, -1) + (tenant.key.endsWith('a') ? 'b' : 'a');
  const bad = [
    lastChanged,
    tenant.key.slice(0, -1),
    `${tenant.key}0`,
    'gw_live_short',
    'sk-something',
    'gw_live_',
    tenant.key.replace('gw_live', 'gw_test'),
  ];
  for (const key of bad) {
    const answer = await send('prov_a', 'prov_a', { authorization: `Bearer ${key}` });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(answer.headers.get('x-gateway-request-id')).toBeTruthy();
    expect(await answer.json()).toMatchObject({ error: 'invalid_token', message: expect.any(String) });
  }
  expect((await send('prov_a', 'prov_a', {})).status).toBe(401);
  for (const look of looks) {
    expect(look).not.toHaveBeenCalled();
    look.mockRestore();
  }
});

test('a well-formed key nobody has is refused, and asked for once', async () => {
  const look = vi.spyOn(Snapshots.prototype, 'findKey');
  const key = makeApiKey('production', Buffer.alloc(32, 9));
  for (let n = 0; n < 5; n += 1)
    expect((await gateway.proxy('/prov_a/v1/models', { key, method: 'GET' })).status).toBe(401);
  expect(look).toHaveBeenCalledTimes(1);
  look.mockRestore();
});

test('a revoked key stops working at once, and a test key is shown as one', async () => {
  const made = await gateway.call('POST', '/v1/api-keys', {
    token: tenant.token,
    body: { name: 'short-lived', environment: 'test' },
  });
  const { key, id } = made.json;
  expect(key).toMatch(/^gw_test_/);
  const before = (await gateway.call('GET', '/v1/usage/requests?limit=1', { token: tenant.token })).json
    .total;
  expect((await gateway.proxy('/prov_a/v1/chat/completions', { key, body: CHAT })).status).toBe(200);
  expect((await gateway.call('DELETE', `/v1/api-keys/${id}`, { token: tenant.token })).status).toBeLessThan(
    300,
  );
  expect((await gateway.proxy('/prov_a/v1/chat/completions', { key, body: CHAT })).status).toBe(401);
  expect(before).toBeGreaterThan(0);
  const rows = () =>
    gateway.sql<{ environment: string }>(`select environment from requests where api_key_id = $1`, [id]);
  await vi.waitFor(async () => expect(await rows()).toEqual([{ environment: 'test' }]), 10_000);
});

test('a provider key that does not open closes its own provider and no other', async () => {
  const { key, token, tenantId } = await gateway.onboard();
  await gateway.sql(
    `update provider_keys set key_sealed = (select key_sealed from provider_keys where tenant_id = $1 and provider = 'prov_b')
      where tenant_id = $1 and provider = 'prov_a'`,
    [tenantId],
  );
  // Any change has the tenant read again.
  await gateway.call('POST', '/v1/teams', { token, body: { name: 'Reader' } });
  const broken = await gateway.proxy('/prov_a/v1/chat/completions', { key, body: CHAT });
  expect(broken).toMatchObject({ status: 502, json: { error: 'provider_key_missing' } });
  expect((await gateway.proxy('/prov_d/chat/completions', { key, body: BODIES.prov_d })).status).toBe(200);
});

test('no secret is in the database or the data directory', async () => {
  const { key, token, tenantId } = await gateway.onboard();
  await gateway.call('POST', '/v1/provider-keys', {
    token,
    body: { provider: 'prov_a', key: 'sk-canary-48151623' },
  });
  const headers = {
    'user-agent': `agent ${key}`,
    'x-api-key': 'sk-canary-client',
    cookie: 'c=sk-canary-cookie',
  };
  const answer = await gateway.proxy(`/prov_a/v1/chat/completions?t=${key}`, { key, body: CHAT, headers });
  expect(answer.status).toBe(200);
  await gateway.logged(token, 1);
  const tables = await gateway.sql<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('gateway', 'graphile_worker')`,
  );
  expect(tables.length).toBeGreaterThan(10);
  for (const { name } of tables) {
    const [found] = await gateway.sql<{ hits: number }>(
      `select count(*) as hits from ${name} t where t::text like any(array[$1, '%sk-canary%'])`,
      [`%${key.slice(8, 40)}%`],
    );
    expect({ name, hits: Number(found!.hits) }).toEqual({ name, hits: 0 });
  }
  const journal = join(gateway.dataDir, 'journal');
  const files = readdirSync(journal, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  expect(files.length).toBeGreaterThan(0);
  const bytes = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join('');
  expect(bytes).toContain(tenantId);
  expect(bytes).not.toMatch(new RegExp(`${key.slice(8, 40)}|sk-canary|sk-upstream`));
});
