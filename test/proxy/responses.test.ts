import type net from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { connectRaw, exchangeRaw, type RawUpstream, startRawUpstream, statusOf } from './wire.ts';

const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
const ANSWER = JSON.stringify({
  object: 'chat.completion',
  model: 'gpt-4o-mini-2024-07-18',
  choices: [],
  usage: USAGE,
});
/** gpt-4o-mini: 0.15 and 0.60 USD per million tokens. */
const COST = 1_000 * 0.15 + 500 * 0.6;

let upstream: RawUpstream;
let answer: (socket: net.Socket, request: string) => void | Promise<void>;
let gateway: Gateway;
let key: string;
beforeAll(async () => {
  upstream = await startRawUpstream((socket, request) => answer(socket, request));
  gateway = await startGateway({ env: { GATEWAY_PROV_A_URL: `${upstream.url}/base` } });
  ({ key } = await gateway.onboard());
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});
beforeEach(() => {
  answer = () => {};
});

const BODY = JSON.stringify({ model: 'gpt-4o-mini', messages: [] });

function request(method = 'POST', path = '/v1/chat/completions'): string {
  return (
    `${method} /v1/proxy/prov_a${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAccept-Encoding: gzip, br\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n\r\n${BODY}`
  );
}

/** The answer without what the gateway puts in, which is checked here. */
async function pass(bytes: string | Buffer, method = 'POST'): Promise<{ text: string; id: string }> {
  answer = (socket) => void socket.end(bytes);
  const text = await exchangeRaw(gateway.proxyUrl, request(method));
  const id = /\r\nX-Gateway-Request-Id: ([0-9a-f-]{36})\r\nConnection: close\r\n/.exec(text)?.[1] ?? '';
  expect(id).not.toBe('');
  return { id, text: text.replace(`X-Gateway-Request-Id: ${id}\r\nConnection: close\r\n`, '') };
}

async function recorded(id: string): Promise<Record<string, unknown>> {
  return eventually(async () => {
    const [row] = await gateway.sql('select * from requests where id = $1', [id]);
    if (!row) throw new Error('no row yet');
    return row;
  });
}

test('status line, headers in their order, spelling and number, and body come back byte for byte', async () => {
  const bytes = Buffer.from(
    `HTTP/1.1 418 I'm a \u00c3\u00a9 teapot\r\nDate: Sun, 15 Nov 2026 00:00:00 GMT\r\nset-cookie: a=1\r\nX-CaSe: Ok\r\nSet-Cookie: b=2; Path=/\r\n` +
      `x-eight: \u00ff\r\nX-Empty: \r\nset-cookie: a=1\r\nContent-Length: 12\r\n\r\nhello\0\r\n\u00fe\u00ff\r`,
    'latin1',
  );
  const { text } = await pass(bytes);
  expect(text.replace('X-Empty: \r\n', 'X-Empty:\r\n')).toBe(
    bytes.toString('latin1').replace('X-Empty: \r\n', 'X-Empty:\r\n'),
  );
});

test.each([
  ['an empty reason', 'HTTP/1.1 200 \r\nDate: x\r\nContent-Length: 0\r\n\r\n'],
  ['204', 'HTTP/1.1 204 No Content\r\nDate: x\r\nX-A: 1\r\n\r\n'],
  ['304', 'HTTP/1.1 304 Not Modified\r\nDate: x\r\nETag: "e"\r\n\r\n'],
  [
    'a redirect',
    'HTTP/1.1 307 Temporary Redirect\r\nDate: x\r\nLocation: http://evil.example/x\r\nContent-Length: 0\r\n\r\n',
  ],
  [
    'a permanent redirect',
    'HTTP/1.1 301 Moved\r\nDate: x\r\nLocation: //evil.example\r\nContent-Length: 3\r\n\r\nabc',
  ],
  ['an unknown status', 'HTTP/1.1 799 Odd\r\nDate: x\r\nContent-Length: 2\r\n\r\nok'],
  ['529', 'HTTP/1.1 529 Overloaded\r\nDate: x\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}'],
])('%s comes back as it is', async (_, bytes) => {
  const connections = upstream.received().length;
  const { text, id } = await pass(bytes);
  expect(text).toBe(bytes);
  expect(upstream.received().length - connections).toBeLessThanOrEqual(1);
  expect(await recorded(id)).toMatchObject({
    status_code: statusOf(bytes),
    cost_microdollars: 0,
    sequence_number: expect.any(Number),
  });
});

test('HEAD is answered with the length of what GET would give, and no body', async () => {
  const bytes = 'HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 4711\r\n\r\n';
  expect((await pass(bytes, 'HEAD')).text).toBe(bytes);
});

test('headers of the connection do not come back', async () => {
  const { text } = await pass(
    'HTTP/1.1 200 OK\r\nDate: x\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n' +
      'X-Gateway-Request-Id: forged\r\nX-Stays: 1\r\nContent-Length: 2\r\n\r\n{}',
  );
  expect(text).toBe('HTTP/1.1 200 OK\r\nDate: x\r\nX-Stays: 1\r\nContent-Length: 2\r\n\r\n{}');
});

test('chunks come back as chunks, with their trailers', async () => {
  const { text, id } = await pass(
    `HTTP/1.1 200 OK\r\nDate: x\r\nTransfer-Encoding: chunked\r\n\r\n${ANSWER.length.toString(16)};x=y\r\n${ANSWER}\r\n0\r\nX-Checksum: \u00e9\r\nServer-Timing: a\r\n\r\n`,
  );
  const [head, ...rest] = text.split('\r\n\r\n');
  expect(head).toBe('HTTP/1.1 200 OK\r\nDate: x\r\nTransfer-Encoding: chunked');
  expect(rest.join('\r\n\r\n')).toMatch(/0\r\nX-Checksum: .+\r\nServer-Timing: a\r\n\r\n$/);
  expect(rest.join('')).toContain(ANSWER);
  expect(await recorded(id)).toMatchObject({ cost_microdollars: COST });
});

test('a body that ends with its connection comes back whole', async () => {
  const { text, id } = await pass(
    `HTTP/1.1 200 OK\r\nDate: x\r\nContent-Type: application/json\r\n\r\n${ANSWER}`,
  );
  expect(text).toContain(ANSWER);
  expect(text.endsWith('\r\n0\r\n\r\n')).toBe(true);
  expect(await recorded(id)).toMatchObject({ cost_microdollars: COST, anomalies: [] });
});

test('1xx answers come back before the final one', async () => {
  const bytes =
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Odd: not a link\r\n\r\n' +
    'HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 2\r\n\r\n{}';
  answer = (socket) => void socket.end(bytes);
  const text = await exchangeRaw(gateway.proxyUrl, request());
  const heads = text.split('\r\n\r\n');
  expect(heads[0]).toMatch(/^HTTP\/1\.1 102 Processing/);
  expect(heads[1]).toMatch(
    /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\nX-Odd: not a link/,
  );
  expect(heads[2]).toMatch(/^HTTP\/1\.1 200 OK/);
});

test.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
] as const)('%s comes back packed as it was, and is metered', async (encoding, pack) => {
  const packed = pack(Buffer.from(ANSWER));
  const head = `HTTP/1.1 200 OK\r\nDate: x\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${packed.length}\r\n\r\n`;
  const { text, id } = await pass(Buffer.concat([Buffer.from(head), packed]));
  expect(text).toBe(head + packed.toString('latin1'));
  expect(await recorded(id)).toMatchObject({ cost_microdollars: COST, usage_source: 'provider' });
});

test('zstd, which cannot be read, comes back untouched and is marked', async () => {
  const bytes =
    'HTTP/1.1 200 OK\r\nDate: x\r\nContent-Encoding: zstd\r\nContent-Length: 4\r\n\r\n\x28\xb5\x2f\xfd';
  const { text, id } = await pass(Buffer.from(bytes, 'latin1'));
  expect(text).toBe(bytes);
  expect(await recorded(id)).toMatchObject({ anomalies: ['the content encoding cannot be read'] });
});

test('the events of a stream arrive as they come', async () => {
  let next: () => void = () => {};
  const event = (n: number) => `data: {"choices":[{"delta":{"content":"${n}"}}]}\n\n`;
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  answer = async (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (let n = 0; n < 5; n += 1) {
      await new Promise<void>((resolve) => {
        next = resolve;
      });
      socket.write(chunk(event(n)));
    }
    socket.write(`${chunk('data: [DONE]\n\n')}0\r\n\r\n`);
  };
  const client = await connectRaw(gateway.proxyUrl);
  client.send(request());
  // The head comes before the first event exists, and each event before the next one does.
  await client.until((text) => text.includes('\r\n\r\n'));
  for (let n = 0; n < 5; n += 1) {
    expect(client.received()).not.toContain(`"${n}"`);
    next();
    expect(await client.until((text) => text.includes(event(n)))).not.toContain('[DONE]');
  }
  expect((await client.closed()).text.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n')).toBe(true);
});

test('a slow reader of 100 MB is waited for, not buffered for', async () => {
  const part = Buffer.alloc(1024 * 1024, 'x');
  const parts = 100;
  let written = 0;
  answer = async (socket) => {
    socket.write(
      `HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ${part.length * parts}\r\n\r\n`,
    );
    for (; written < parts; written += 1)
      if (!socket.write(part)) await new Promise((resolve) => socket.once('drain', resolve));
  };
  const client = await connectRaw(gateway.proxyUrl);
  client.socket.removeAllListeners('data');
  client.socket.pause();
  client.send(request());
  await eventually(async () => expect(written).toBeGreaterThan(0));
  let before = -1;
  // Until nothing moves any more: what is under way lies in the kernel's buffers and a few reads of the gateway.
  while (before !== written) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  expect(written).toBeLessThan(40);
  let bytes = 0;
  client.socket.on('data', (read) => {
    bytes += read.length;
  });
  client.socket.resume();
  await client.closed();
  expect(bytes).toBeGreaterThan(part.length * parts);
});
