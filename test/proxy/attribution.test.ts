import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { exchangeRaw, statusOf } from './wire.ts';

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };

let gateway: Gateway;
let tenant: SignedUp & { key: string };
let team: { id: string; slug: string };
let rows = 0;
beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.onboard();
  const made = await gateway.call('POST', '/v1/teams', {
    token: tenant.token,
    body: { name: 'Search Quality' },
  });
  team = made.json;
});
afterAll(() => gateway.stop());
afterEach(() => gateway.simulator.reset());

async function lastRow() {
  rows += 1;
  await gateway.logged(tenant.token, rows);
  const [row] = await gateway.sql<Record<string, unknown>>(
    `select team_id, service_name, agent, user_name, end_customer, tags from requests
      where tenant_id = $1 order by id desc limit 1`,
    [tenant.tenantId],
  );
  return row!;
}

async function call(headers: Record<string, string>, key = tenant.key) {
  const answer = await gateway.proxy('/prov_a/v1/chat/completions', { key, body: CHAT, headers });
  expect(answer.status).toBe(200);
  const sent = gateway.simulator.calls().at(-1)!.rawHeaders;
  expect(sent.filter((_, index) => index % 2 === 0).join(' ')).not.toMatch(/gateway/i);
  return lastRow();
}

test('every attribution header is stored and none is forwarded', async () => {
  const row = await call({
    'X-Gateway-Team': 'Search Quality',
    'X-Gateway-Service': 'ranker',
    'X-Gateway-User': 'ada@example.com',
    'X-Gateway-End-Customer': 'cust-7',
    'X-Gateway-Agent': 'planner',
    'X-Gateway-Tags': 'env=prod,feature=a%2Cb%3Dc,,=x,broken,%zz=1',
    'X-Gateway-Tag-Run': '42',
    'X-Gateway-Anything': 'else',
  });
  expect(row).toMatchObject({
    team_id: team.id,
    service_name: 'ranker',
    user_name: 'ada@example.com',
    end_customer: 'cust-7',
    agent: 'planner',
    tags: { env: 'prod', feature: 'a,b=c', run: '42', '%zz': '1' },
  });
});

test.each(['id', 'slug'] as const)('a team is found by its %s', async (field) => {
  expect(await call({ 'x-gateway-team': team[field] })).toMatchObject({ team_id: team.id });
});

test('an unknown team is no team; its text is kept as a tag', async () => {
  const row = await call({ 'x-gateway-team': 'Nobody', 'x-gateway-tags': 'team_header=forged' });
  expect(row).toMatchObject({ team_id: null, tags: { team_header: 'Nobody' } });
});

test('what a key is bound to wins over the headers', async () => {
  const made = await gateway.call('POST', '/v1/api-keys', {
    token: tenant.token,
    body: { name: 'bound', team_id: team.id, service_name: 'bound-service' },
  });
  expect(made.status).toBe(201);
  const row = await call({ 'x-gateway-team': 'Nobody', 'x-gateway-service': 'other' }, made.json.key);
  expect(row).toMatchObject({ team_id: team.id, service_name: 'bound-service' });
  expect((row.tags as Record<string, string>).team_header).toBeUndefined();
});

test('10 KB in every header is cut at 256 bytes, never inside a character', async () => {
  const long = `${'x'.repeat(255)}é${'y'.repeat(10_000)}`;
  const latin1 = Buffer.from(long).toString('latin1');
  const row = await call({
    'x-gateway-user': latin1,
    'x-gateway-service': latin1,
    'x-gateway-tag-a': latin1,
    'x-gateway-tags': `${'k'.repeat(1_000)}=${'v'.repeat(1_000)},${Array.from({ length: 500 }, (_, n) => `t${n}=1`).join(',')}`,
  });
  expect(row.user_name).toBe('x'.repeat(255));
  expect(row.service_name).toBe('x'.repeat(255));
  const tags = row.tags as Record<string, string>;
  expect(Object.keys(tags).length).toBeLessThanOrEqual(32);
  expect(Math.max(...Object.values(tags).map((value) => Buffer.byteLength(value)))).toBeLessThanOrEqual(256);
});

test.each([
  ['a NUL', 'a\0b', 400],
  ['a bare CR', 'a\rX-Injected: 1', 400],
  ['a bare LF and a header', 'a\nX-Injected: 1', 400],
  ['8-bit bytes that are no UTF-8', 'a\xff\xfeb', 200],
  ['UTF-8', Buffer.from('Zoë 東京').toString('latin1'), 200],
  ['a tab and quotes', 'a\t"\'`;--', 200],
  ['an encoded line break in a tag', 'x%0d%0aX-Injected:%201', 200],
])(
  '%s in an attribution header is refused or kept as text, and never reaches the upstream',
  async (_, value, status) => {
    const body = JSON.stringify(CHAT);
    const text = await exchangeRaw(
      gateway.proxyUrl,
      `POST /v1/proxy/prov_a/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n` +
        `X-Gateway-User: ${value}\r\nX-Gateway-Tags: note=${value}\r\n\r\n${body}`,
    );
    expect(statusOf(text)).toBe(status);
    const calls = gateway.simulator.calls();
    expect(calls).toHaveLength(status === 200 ? 1 : 0);
    expect(calls.flatMap(({ rawHeaders }) => rawHeaders).join('\n')).not.toMatch(/injected|note|Zo/i);
    if (status !== 200) return;
    const row = await lastRow();
    expect(row.user_name).not.toMatch(/\p{Cc}/u);
    expect(JSON.stringify(row.tags)).not.toMatch(/\\u00[01]|\\[rnt]/);
    if (value.includes('\xe6')) expect(row.user_name).toBe('Zoë 東京');
  },
);
