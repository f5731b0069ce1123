import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { exchangeRaw, statusOf } from './wire.ts';

let gateway: Gateway;
let key: string;
beforeAll(async () => {
  gateway = await startGateway();
  ({ key } = await gateway.onboard());
});
afterAll(() => gateway.stop());
afterEach(() => gateway.simulator.reset());

function get(target: string, { method = 'GET', host = 'gateway' } = {}): Promise<string> {
  return exchangeRaw(
    gateway.proxyUrl,
    `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
  );
}

/** Ways to say `..`, and things that look like one to some reader. */
const UPS = [
  '..',
  '%2e%2e',
  '%2E%2E',
  '.%2e',
  '%2e.',
  '%252e%252e',
  '%25252e%25252e',
  '..%00',
  '..%0a',
  '..;',
  '..;x=1',
  '%2e%2e%3b',
  '%2e%2e;a',
  '..%3B',
  '..\\',
  '..%5c',
  '%2e%2e%5c',
  '%255c..',
  '%c0%ae%c0%ae',
  '%c0%ae.',
  '%e0%80%ae%e0%80%ae',
  '%f0%80%80%ae',
  '%u002e%u002e',
  '..%252f',
  '..%2f..',
];
/** Where in a path they are put. */
const PLACES = [
  (up: string) => `/v1/proxy/prov_a/${up}/admin`,
  (up: string) => `/v1/proxy/prov_a/v1/${up}/${up}/admin`,
  (up: string) => `/v1/proxy/prov_a/v1/models%2f${up}%2fadmin`,
  (up: string) => `/v1/proxy/prov_a/v1/x%252f${up}%252fadmin`,
];
const LEAVING = [
  ...PLACES.flatMap((place) => UPS.map(place)),
  '/v1/proxy/prov_a//evil.example/v1',
  '/v1/proxy/prov_a/%2fevil.example/v1',
  '/v1/proxy/prov_a/%252fevil.example',
  '/v1/proxy/prov_a/\\evil.example',
  '/v1/proxy/prov_a/%5cevil.example',
  '/v1/proxy/prov_a/v1/\\..\\admin',
  '/v1/proxy/prov_a/..',
  '/v1/proxy/prov_a/v1/..',
  '/v1/proxy/prov_a/v1/models%00.json',
  '/v1/proxy/prov_a/v1/models%0d%0aX-Injected:%201',
  '/v1/proxy/prov_a/v1/models#fragment',
  '/v1/proxy/prov_a/v1/models?x=1#fragment',
  '/v1/proxy/prov_a/v1/%25252525252e%25252525252e/x',
  'http://evil.example/v1/proxy/prov_a/v1/models',
  'http://evil.example',
  'https://user:pass@evil.example/',
  '*',
  '/v1/proxy/prov_a/v1/models/\xe9\xff',
  '/v1/proxy/prov_a/v1/models?a=\xe9',
  '/v1/proxy/prov_a/v1/models?a=\tb',
  '/v1/proxy/prov_a/v1/models?a=\x7fb',
  'v1/proxy/prov_a/v1/models',
  '@evil.example/v1/proxy/prov_a/v1/models',
];
const NOWHERE = [
  '/',
  '//evil.example/v1/proxy/prov_a/v1/models',
  '/\\evil.example',
  '/v1/proxy/',
  '/v1/proxy/prov_e/v1/models',
  '/v1/proxy/PROV_A/v1/models',
  '/v1/proxy/prov_a@evil.example/v1',
  '/v1/proxy/prov_a:80/v1',
  '/v1/proxy/prov_a%2fv1/models',
  '/v1/proxy/prov_a.evil.example/v1',
  '/v1/proxy/../proxy/prov_a/v1/models',
  '/v1/proxy/__proto__/v1',
  '/v1/proxy/constructor/v1',
  '/v1//proxy/prov_a/v1/models',
  '/v1/proxy//prov_a/v1/models',
  '/V1/proxy/prov_a/v1/models',
  '/v2/proxy/prov_a/v1/models',
  '/v1/proxy/prov_a;x/v1',
  '/v1/proxy?prov_a',
];

test(`${LEAVING.length + NOWHERE.length} targets that leave the base or name nothing reach no upstream`, async () => {
  const wrong: string[] = [];
  const check = async (target: string, expected: number[]) => {
    const text = await get(target);
    if (
      !expected.includes(statusOf(text)) ||
      !/"error":"(invalid_path|not_found|invalid_request)"/.test(text)
    )
      wrong.push(`${target} -> ${text.slice(0, 60)}`);
  };
  for (const target of LEAVING) await check(target, [400]);
  for (const target of NOWHERE) await check(target, [404, 400]);
  expect(wrong).toEqual([]);
  expect(gateway.simulator.calls()).toEqual([]);
  expect(LEAVING.length + NOWHERE.length).toBeGreaterThan(100);
});

const ODD = [
  '/v1/models/a%20b',
  '/v1/models/org%2Fmodel',
  '/v1/models/org%2fmodel:free',
  '/v1//models///x',
  '/v1/models/.',
  '/v1/models/...',
  '/v1/models/a..b/..c/d..',
  '/v1/models/%E6%9D%B1%E4%BA%AC%E2%80%93%C3%A9',
  '/v1/models/a;b=c,d',
  "/v1/models/!$&'()*+,;=:@-._~",
  '/v1/models/%zz%',
  '/v1/models/|"<>^`{}',
  '/v1/models/',
  '/v1/models?',
  '/v1/models?a=1&a=2&&b',
  '/v1/models?q=%20+%2B%00%0A..%2f../\\|&u=http://evil.example//x?y=1',
  '/v1/models?key=not-ours',
  '/v1/models?a=%C3%A9%80',
  '',
  '/',
  '?x=1',
];

test.each(ODD)('%j goes on byte for byte', async (path) => {
  const text = await get(`/v1/proxy/prov_a${path}`);
  expect(statusOf(text)).toBeGreaterThan(0);
  const [call] = gateway.simulator.calls();
  // An empty query is no query; every other byte is the caller's.
  expect(call?.rawTarget).toBe(`/sim_a${path === '/v1/models?' ? '/v1/models' : path}`);
  expect(call?.rawHeaders.join('\n')).not.toContain('gw_');
});

test('the Host header does not decide where a request goes', async () => {
  const { host } = new URL(gateway.simulator.url);
  for (const evil of ['evil.example', 'evil.example:80', 'evil.example/?', '127.0.0.1@evil.example', '']) {
    const text = await get('/v1/proxy/prov_a/v1/models', { host: evil });
    expect(statusOf(text)).toBe(200);
  }
  const hosts = gateway.simulator.calls().map(({ rawHeaders }) => {
    const names = rawHeaders.map((name) => name.toLowerCase());
    expect(names.filter((name) => name === 'host')).toHaveLength(1);
    return rawHeaders[names.indexOf('host') + 1];
  });
  expect(hosts).toEqual([host, host, host, host, host]);
});

test('CONNECT and methods nobody knows get an answer of ours and nothing else', async () => {
  expect(statusOf(await get('evil.example:443', { method: 'CONNECT' }))).toBe(405);
  expect(statusOf(await get('/v1/proxy/prov_a/v1/models', { method: 'CONNECT' }))).toBe(405);
  expect(statusOf(await get('/v1/proxy/prov_a/v1/models', { method: 'NONSENSE' }))).toBe(400);
  expect(statusOf(await get('/v1/proxy/prov_a/v1/models', { method: 'get' }))).toBe(400);
  expect(gateway.simulator.calls()).toEqual([]);
});
