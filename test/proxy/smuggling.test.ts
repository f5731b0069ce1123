import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { connectRaw } from './wire.ts';

let gateway: Gateway;
let key: string;
beforeAll(async () => {
  gateway = await startGateway();
  ({ key } = await gateway.onboard());
});
afterAll(() => gateway.stop());
afterEach(() => gateway.simulator.reset());

const HIDDEN = 'GET /v1/proxy/prov_a/v1/hidden HTTP/1.1\r\nHost: x\r\n\r\n';
const CANARY_PATH = '/v1/models/canary';

function post(headers: string, body: string): string {
  return `POST /v1/proxy/prov_a/v1/first HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${headers}\r\n\r\n${body}`;
}

/** Requests that two readers may cut at different places. `bodies`: what the upstream may have been sent as one. */
const CORPUS: Array<{ name: string; bytes: () => string; bodyBytes: number[] }> = [
  {
    name: 'CL.TE',
    bytes: () => post('Content-Length: 6\r\nTransfer-Encoding: chunked', `0\r\n\r\n${HIDDEN}`),
    bodyBytes: [0],
  },
  {
    name: 'TE.CL',
    bytes: () => post('Transfer-Encoding: chunked\r\nContent-Length: 4', `5c\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'TE.TE with a space',
    bytes: () => post('Transfer-Encoding: chunked\r\nTransfer-Encoding: x', `0\r\n\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'TE before its colon',
    bytes: () => post('Transfer-Encoding : chunked\r\nContent-Length: 5', `0\r\n\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  { name: 'TE with a tab', bytes: () => post('Transfer-Encoding:\tchunked', `0\r\n\r\n`), bodyBytes: [0] },
  {
    name: 'TE: xchunked',
    bytes: () => post('Transfer-Encoding: xchunked', `0\r\n\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'TE: chunked, identity',
    bytes: () => post('Transfer-Encoding: chunked, identity', `0\r\n\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'two lengths',
    bytes: () => post('Content-Length: 3\r\nContent-Length: 5', `abcde${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'two equal lengths',
    bytes: () => post('Content-Length: 3\r\nContent-Length: 3', 'abc'),
    bodyBytes: [3],
  },
  { name: 'a list of lengths', bytes: () => post('Content-Length: 3, 5', `abcde${HIDDEN}`), bodyBytes: [] },
  { name: 'a signed length', bytes: () => post('Content-Length: +3', `abc${HIDDEN}`), bodyBytes: [] },
  { name: 'a negative length', bytes: () => post('Content-Length: -1', HIDDEN), bodyBytes: [] },
  { name: 'a hexadecimal length', bytes: () => post('Content-Length: 0x3', `abc${HIDDEN}`), bodyBytes: [] },
  {
    name: 'a length beyond all numbers',
    bytes: () => post('Content-Length: 99999999999999999999', HIDDEN),
    bodyBytes: [],
  },
  { name: 'an empty length', bytes: () => post('Content-Length:', HIDDEN), bodyBytes: [] },
  {
    name: 'obs-fold',
    bytes: () => post('X-A: b\r\n Transfer-Encoding: chunked\r\nContent-Length: 0', ''),
    bodyBytes: [0],
  },
  { name: 'a folded length', bytes: () => post('Content-Length:\r\n 3', `abc${HIDDEN}`), bodyBytes: [] },
  {
    name: 'bare LF between headers',
    bytes: () => post('X-A: b\nTransfer-Encoding: chunked', `0\r\n\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'bare CR in a header',
    bytes: () => post('X-A: b\rContent-Length: 3', `abc${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: '\\r\\n\\rX as the end of the head',
    bytes: () => post('Content-Length: 0\r\n\rX: y', HIDDEN),
    bodyBytes: [],
  },
  {
    name: 'a chunk size beyond all numbers',
    bytes: () => post('Transfer-Encoding: chunked', `ffffffffffffffffff\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'a chunk size with a space',
    bytes: () => post('Transfer-Encoding: chunked', `3 \r\nabc\r\n0\r\n\r\n`),
    bodyBytes: [3],
  },
  {
    name: 'a chunk that is longer than it says',
    bytes: () => post('Transfer-Encoding: chunked', `3\r\nabcd\r\n0\r\n\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'a chunk ended by LF',
    bytes: () => post('Transfer-Encoding: chunked', `3\nabc\n0\n\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'a chunk extension with a line break',
    bytes: () => post('Transfer-Encoding: chunked', `3;a\nb\r\nabc\r\n0\r\n\r\n${HIDDEN}`),
    bodyBytes: [],
  },
  {
    name: 'a length of zero and Expect',
    bytes: () => post('Content-Length: 0\r\nExpect: 100-continue', ''),
    bodyBytes: [0],
  },
  {
    name: 'HTTP/1.0 with chunks',
    bytes: () => post('Transfer-Encoding: chunked', `0\r\n\r\n`).replace('HTTP/1.1', 'HTTP/1.0'),
    bodyBytes: [0],
  },
  {
    name: 'HTTP/9.9',
    bytes: () => post('Content-Length: 0', '').replace('HTTP/1.1', 'HTTP/9.9'),
    bodyBytes: [],
  },
  { name: 'two Host headers', bytes: () => post('Host: evil\r\nContent-Length: 0', ''), bodyBytes: [0] },
  { name: 'a header without a name', bytes: () => post(': x\r\nContent-Length: 0', HIDDEN), bodyBytes: [] },
  {
    name: 'a GET with a body that is a request',
    bytes: () => post(`Content-Length: ${HIDDEN.length}`, HIDDEN).replace('POST', 'GET'),
    bodyBytes: [HIDDEN.length],
  },
];

test.each(CORPUS)(
  '$name: what follows on the connection is a request of its own, or the connection ends',
  async ({ bytes, bodyBytes }) => {
    const client = await connectRaw(gateway.proxyUrl);
    client.send(bytes());
    client.send(
      `GET /v1/proxy/prov_a${CANARY_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Canary: 1\r\nConnection: close\r\n\r\n`,
    );
    const { text } = await client.closed();
    const answers = text.match(/HTTP\/1\.1 (?!100)\d{3}/g) ?? [];
    const calls = gateway.simulator.calls();
    // The hidden request has no key, so it never goes on; the canary is seen as itself or not at all.
    for (const call of calls) expect(['/v1/first', CANARY_PATH]).toContain(call.rawPath);
    const first = calls.filter(({ rawPath }) => rawPath === '/v1/first');
    const canary = calls.filter(({ rawPath }) => rawPath === CANARY_PATH);
    expect(first.map((call) => call.bodyBytes)).toEqual(first.length === 0 ? [] : bodyBytes);
    for (const call of canary) expect(call.rawHeaders).toContain('X-Canary');
    // As many answers as requests were understood, and a connection in doubt does not go on.
    expect(answers.length).toBeGreaterThan(0);
    if (canary.length === 1) expect(answers.at(-1)).toMatch(/200|404/);
    else expect(answers.at(-1)).toMatch(/4\d\d$/);
    for (const call of first)
      expect(call.rawHeaders.map((header) => header.toLowerCase())).not.toContain('transfer-encoding');
  },
);

test('pipelined requests are answered in their order', async () => {
  gateway.simulator.script('prov_a', { match: { path: '/v1/slow' }, delayMs: 100 });
  const client = await connectRaw(gateway.proxyUrl);
  const paths = ['/v1/slow', '/v1/models', '/v1/nothing'];
  client.send(
    paths
      .map(
        (path, n) =>
          `GET /v1/proxy/prov_a${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${n === 2 ? 'Connection: close\r\n' : ''}\r\n`,
      )
      .join(''),
  );
  const { text } = await client.closed();
  expect(text.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200', 'HTTP/1.1 404']);
});

test('garbage behind a request never lands in its answer and ends the connection', async () => {
  gateway.simulator.script('prov_a', { chunks: 5, chunkDelayMs: 20 });
  const body = JSON.stringify({
    model: 'gpt-4o-mini',
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  });
  const client = await connectRaw(gateway.proxyUrl);
  client.send(
    `POST /v1/proxy/prov_a/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await client.until((text) => text.includes('data: '));
  client.send('\x16\x03\x01 this is no request\r\n\r\n');
  const { text } = await client.closed();
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect(text.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n')).toBe(true);
});
