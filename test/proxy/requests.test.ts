import { createHash, randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { connectRaw, exchangeRaw, statusOf } from './wire.ts';

const CHAT = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });
const MAX_BODY_BYTES = 4 * 1024 * 1024;

let gateway: Gateway;
let key: string;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_MAX_BODY_BYTES: String(MAX_BODY_BYTES) } });
  ({ key } = await gateway.onboard());
});
afterAll(() => gateway.stop());
afterEach(() => gateway.simulator.reset());

function head(method: string, path: string, more = ''): string {
  return `${method} /v1/proxy/prov_a${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}`;
}

function headersOf(rawHeaders: string[]): Record<string, string> {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  return Object.fromEntries(names.map((name, index) => [name, rawHeaders[index * 2 + 1]!]));
}

test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
  '%s goes on with its body',
  async (method) => {
    const body = randomBytes(1_000);
    const text = await exchangeRaw(
      gateway.proxyUrl,
      Buffer.concat([
        Buffer.from(head(method, '/v1/other', `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`)),
        body,
      ]),
    );
    expect(statusOf(text)).toBeGreaterThan(0);
    const [call] = gateway.simulator.calls();
    expect(call).toMatchObject({
      method,
      bodyBytes: 1_000,
      bodySha256: createHash('sha256').update(body).digest('hex'),
    });
  },
);

test.each(['GET', 'DELETE', 'POST', 'HEAD'])('%s without a body arrives without one', async (method) => {
  await exchangeRaw(gateway.proxyUrl, head(method, '/v1/models', 'Connection: close\r\n\r\n'));
  const [call] = gateway.simulator.calls();
  expect(call).toMatchObject({ method, bodyBytes: 0 });
  expect(headersOf(call!.rawHeaders)['transfer-encoding']).toBeUndefined();
});

test('HEAD is answered with the provider’s head and no body', async () => {
  const text = await exchangeRaw(gateway.proxyUrl, head('HEAD', '/v1/models', 'Connection: close\r\n\r\n'));
  expect(statusOf(text)).toBe(200);
  expect(text).toMatch(/content-type: application\/json/i);
  expect(text.endsWith('\r\n\r\n')).toBe(true);
});

test.each(['', '/'])('an unauthenticated HEAD on a provider’s root "%s" is answered 200', async (path) => {
  for (const provider of ['prov_b', 'anthropic', 'prov_a']) {
    const answer = await fetch(`${gateway.proxyUrl}/v1/proxy/${provider}${path}`, { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-gateway-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  }
  expect((await fetch(`${gateway.proxyUrl}/v1/proxy/prov_b/v1`, { method: 'HEAD' })).status).toBe(401);
  expect(gateway.simulator.calls()).toEqual([]);
});

test('headers go on in their order and spelling, less those of the connection', async () => {
  await exchangeRaw(
    gateway.proxyUrl,
    head(
      'GET',
      '/v1/models',
      'X-One: 1\r\nx-TWO:   2  \r\nX-One: again\r\nX-Empty:\r\nX-Eight: \xe9\r\nConnection: close, X-Hop, authorization\r\n' +
        'X-Hop: gone\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nTrailer: X-T\r\n' +
        'Proxy-Authorization: Basic abc\r\nX-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\nCF-Connecting-IP: 10.0.0.1\r\n' +
        'Accept-Encoding: zstd, gzip;q=0.5, br\r\n\r\n',
    ),
  );
  const [call] = gateway.simulator.calls();
  expect(call!.rawHeaders).toEqual([
    'host',
    new URL(gateway.simulator.url).host,
    'connection',
    'keep-alive',
    'X-One',
    '1',
    'x-TWO',
    '2',
    'X-One',
    'again',
    'X-Empty',
    '',
    'X-Eight',
    '\xe9',
    'Accept-Encoding',
    'gzip;q=0.5, br',
    'Authorization',
    'Bearer sk-upstream-prov_a',
  ]);
});

test('a chunked body arrives whole, framed anew', async () => {
  const client = await connectRaw(gateway.proxyUrl);
  client.send(
    head(
      'POST',
      '/v1/chat/completions',
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
    ),
  );
  for (const part of CHAT.match(/.{1,7}/g)!)
    client.send(`${part.length.toString(16)};ext="x"\r\n${part}\r\n`);
  client.send('0\r\nX-Trailer: 1\r\n\r\n');
  expect(statusOf((await client.closed()).text)).toBe(200);
  const [call] = gateway.simulator.calls();
  expect(call!.body.toString()).toBe(CHAT);
  expect(headersOf(call!.rawHeaders)['content-length']).toBe(String(CHAT.length));
});

test('a multipart upload arrives byte for byte and is metered', async () => {
  const form = new FormData();
  form.append('model', 'gpt-4o-transcribe');
  form.append('file', new Blob([new Uint8Array(randomBytes(200_000))]), 'a.wav');
  const answer = await fetch(`${gateway.proxyUrl}/v1/proxy/prov_a/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  expect(answer.status).toBe(200);
  const id = answer.headers.get('x-gateway-request-id');
  await eventually(async () => {
    const [row] = await gateway.sql('select * from requests where id = $1', [id]);
    expect(row).toMatchObject({ model_requested: 'gpt-4o-transcribe', usage_source: 'provider' });
  });
});

test('Expect: 100-continue is answered once the key and the size are known to be good', async () => {
  const client = await connectRaw(gateway.proxyUrl);
  const more = `Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${CHAT.length}\r\nConnection: close\r\n\r\n`;
  client.send(head('POST', '/v1/chat/completions', more));
  expect(await client.until((text) => text.includes('\r\n\r\n'))).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  client.send(CHAT);
  const { text } = await client.closed();
  expect(statusOf(text.slice('HTTP/1.1 100 Continue\r\n\r\n'.length))).toBe(200);
  expect(headersOf(gateway.simulator.calls()[0]!.rawHeaders).expect).toBeUndefined();

  const unknown = await exchangeRaw(
    gateway.proxyUrl,
    head('POST', '/v1/chat/completions', more).replace(key, 'nothing'),
  );
  expect(statusOf(unknown)).toBe(401);
  const large = await exchangeRaw(
    gateway.proxyUrl,
    head('POST', '/v1/chat/completions', more.replace(/Length: \d+/, 'Length: 99999999')),
  );
  expect(statusOf(large)).toBe(413);
});

test.each(['declared', 'chunked'] as const)(
  'a body that is too large (%s) gets 413, also when it is read only after all was sent, and no byte goes on',
  async (framing) => {
    const body = Buffer.alloc(MAX_BODY_BYTES + 3_000_000, 'x');
    const isChunked = framing === 'chunked';
    const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
    const client = await connectRaw(gateway.proxyUrl);
    client.socket.pause();
    client.send(head('POST', '/v1/chat/completions', `${length}\r\n\r\n`));
    if (isChunked) client.send(`${body.length.toString(16)}\r\n`);
    await new Promise((resolve) => client.socket.write(body, resolve));
    if (isChunked) client.send('\r\n0\r\n\r\n');
    client.socket.resume();
    const { text, reset } = await client.closed();
    expect(reset).toBe(false);
    expect(statusOf(text)).toBe(413);
    expect(text).toMatch(/\r\nconnection: close\r\n/i);
    expect(text).toContain('"error":"payload_too_large"');
    expect(gateway.simulator.calls()).toEqual([]);
  },
);

test('a body without end gets 413 and then no more attention', async () => {
  const client = await connectRaw(gateway.proxyUrl);
  client.send(head('POST', '/v1/chat/completions', 'Transfer-Encoding: chunked\r\n\r\n'));
  const part = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  const sending = setInterval(() => client.send(part.repeat(10)), 5);
  const { text } = await client.closed();
  clearInterval(sending);
  expect(statusOf(text)).toBe(413);
  expect(gateway.simulator.calls()).toEqual([]);
});

test('a body of exactly the limit goes through', async () => {
  const body = Buffer.alloc(MAX_BODY_BYTES, 'x');
  const answer = await gateway.proxy('/prov_a/v1/other', { key, raw: body.toString() });
  expect(answer.status).toBe(404);
  expect(gateway.simulator.calls()[0]!.bodyBytes).toBe(MAX_BODY_BYTES);
});

test('more than 100 headers, or more than 64 KB of them, get 431', async () => {
  const lines = (count: number) => Array.from({ length: count }, (_, n) => `X-H${n}: 1\r\n`).join('');
  const fits = await exchangeRaw(
    gateway.proxyUrl,
    head('GET', '/v1/models', `${lines(97)}Connection: close\r\n\r\n`),
  );
  expect(statusOf(fits)).toBe(200);
  for (const more of [lines(98), lines(2_100), `X-Long: ${'x'.repeat(70_000)}\r\n`]) {
    const text = await exchangeRaw(
      gateway.proxyUrl,
      head('GET', '/v1/models', `${more}Connection: close\r\n\r\n`),
    );
    expect(statusOf(text)).toBe(431);
    expect(text).toContain('"error":"headers_too_many"');
  }
  expect(gateway.simulator.calls()).toHaveLength(1);
});

test('an upgrade gets 501 and the connection ends', async () => {
  const text = await exchangeRaw(
    gateway.proxyUrl,
    head('GET', '/v1/realtime', 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nextra'),
  );
  expect(statusOf(text)).toBe(501);
  expect(text).toMatch(/x-should-retry: false/i);
  expect(gateway.simulator.calls()).toEqual([]);
});

test('a client that leaves in the middle of its body leaves no trace', async () => {
  const { key: ownKey, token } = await gateway.onboard();
  const client = await connectRaw(gateway.proxyUrl);
  client.send(head('POST', '/v1/chat/completions', 'Content-Length: 1000\r\n\r\nhalf').replace(key, ownKey));
  client.socket.resetAndDestroy();
  expect((await gateway.proxy('/prov_a/v1/models', { key: ownKey, method: 'GET' })).status).toBe(200);
  await gateway.logged(token, 1);
  expect(gateway.simulator.calls()).toHaveLength(1);
});
