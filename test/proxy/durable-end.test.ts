import { request as httpRequest } from 'node:http';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type Disk, realDisk } from '../../src/server/proxy/journal/segments.ts';
import { type Gateway, startGateway } from '../harness.ts';
import { connectRaw, type RawUpstream, startRawUpstream } from './wire.ts';

let bare: RawUpstream;
let gateway: Gateway;
let key: string;
let letGo: () => void = () => {};
beforeAll(async () => {
  // Answers whose head is all there is, and says no length.
  bare = await startRawUpstream((socket, asked) => {
    socket.end(asked.startsWith('HEAD') ? 'HTTP/1.1 200 OK\r\n\r\n' : 'HTTP/1.1 204 No Content\r\n\r\n');
  });
  gateway = await startGateway({ env: { GATEWAY_PROV_D_URL: bare.url } });
  ({ key } = await gateway.onboard());
});
afterAll(async () => {
  await gateway.stop();
  await bare.close();
});
afterEach(() => {
  letGo();
  vi.restoreAllMocks();
  gateway.simulator.reset();
});

function request(path: string, body: unknown, method = 'POST'): string {
  const text = body === null ? '' : JSON.stringify(body);
  return (
    `${method} /v1/proxy/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nanthropic-version: 2023-06-01\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`
  );
}

/** A disk whose syncs wait until they are let go. */
function slowDisk() {
  const waiting: Array<() => void> = [];
  let asked: () => void = () => {};
  const firstSync = new Promise<void>((resolve) => {
    asked = resolve;
  });
  vi.spyOn(realDisk, 'fdatasync').mockImplementation((_fd, done: Parameters<Disk['fdatasync']>[1]) => {
    waiting.push(() => done(null));
    asked();
  });
  letGo = () => {
    for (const done of waiting.splice(0)) done();
  };
  return { firstSync };
}

const MESSAGES = [{ role: 'user', content: 'hi' }];
const CASES = [
  {
    name: 'a whole answer',
    path: 'prov_a/v1/chat/completions',
    body: { model: 'gpt-4o-mini', messages: MESSAGES },
    end: '}',
  },
  {
    name: 'an OpenAI stream',
    path: 'prov_a/v1/chat/completions',
    body: { model: 'gpt-4o-mini', stream: true, messages: MESSAGES },
    end: '[DONE]',
  },
  {
    name: 'a responses stream',
    path: 'prov_a/v1/responses',
    body: { model: 'gpt-5', stream: true, input: 'hi' },
    end: 'response.completed',
  },
  {
    name: 'an Anthropic stream',
    path: 'prov_b/v1/messages',
    body: { model: 'claude-sonnet-4-5', max_tokens: 9, stream: true, messages: MESSAGES },
    end: 'message_stop',
  },
];

test.each(CASES)('the end of $name is kept back until its record is on disk', async ({ path, body, end }) => {
  const disk = slowDisk();
  const client = await connectRaw(gateway.proxyUrl);
  client.send(request(path, body));
  await disk.firstSync;
  await gateway.simulator.settled();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const early = client.received();
  const bodySoFar = early.slice(early.indexOf('\r\n\r\n') + 4);
  expect(bodySoFar).not.toContain(end);
  expect(early.endsWith('0\r\n\r\n')).toBe(false);
  letGo();
  const { text } = await client.closed();
  expect(text).toContain(end);
  expect(text.startsWith('HTTP/1.1 200')).toBe(true);
});

const UNPACKERS = { gzip: createGunzip, br: createBrotliDecompress, deflate: createInflate };

test.each(['gzip', 'br', 'deflate'] as const)(
  'the last event of a stream packed with %s is kept back too',
  async (encoding) => {
    gateway.simulator.script('prov_a', { encoding, chunks: 5 });
    const disk = slowDisk();
    const { path, body, end } = CASES[1]!;
    let seen = '';
    const url = `${gateway.proxyUrl}/v1/proxy/${path}`;
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': encoding };
    const whole = new Promise<void>((resolve, reject) => {
      const asked = httpRequest(url, { method: 'POST', headers }, (response) => {
        expect(response.headers['content-encoding']).toBe(encoding);
        const unpacked = response.pipe(UNPACKERS[encoding]());
        unpacked.on('data', (bytes: Buffer) => {
          seen += bytes;
        });
        unpacked.on('end', resolve).on('error', reject);
      });
      asked.on('error', reject).end(JSON.stringify(body));
    });
    await disk.firstSync;
    await gateway.simulator.settled();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(seen).toContain('delta');
    expect(seen).not.toContain(end);
    letGo();
    await whole;
    expect(seen).toContain(end);
  },
);

test.each(['HEAD', 'DELETE'])('an answer to %s that is all head is kept back too', async (method) => {
  const disk = slowDisk();
  const client = await connectRaw(gateway.proxyUrl);
  client.send(request('prov_d/v1/files/x', null, method));
  await disk.firstSync;
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(client.received()).toBe('');
  letGo();
  expect((await client.closed()).text).toMatch(/^HTTP\/1\.1 20[04]/);
});

test('a disk that fails cuts the answer off instead of completing it, and later calls get 503 or work', async () => {
  const failure = Object.assign(new Error('EIO'), { code: 'EIO' });
  vi.spyOn(realDisk, 'fdatasync').mockImplementation((_fd, done) => setImmediate(() => done(failure)));
  const client = await connectRaw(gateway.proxyUrl);
  client.send(request(CASES[1]!.path, CASES[1]!.body));
  const { text } = await client.closed();
  expect(text).not.toContain('[DONE]');
  expect(text.endsWith('0\r\n\r\n')).toBe(false);
  vi.restoreAllMocks();
  await vi.waitFor(async () => {
    const answer = await gateway.proxy('/prov_a/v1/models', { key, method: 'GET' });
    expect([200, 503]).toContain(answer.status);
    if (answer.status === 503) expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.status).toBe(200);
  }, 10_000);
});
