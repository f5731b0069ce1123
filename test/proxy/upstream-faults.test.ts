import http from 'node:http';
import { createGzip } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'twelve bytes' }] };
const STREAM = { ...CHAT, stream: true, stream_options: { include_usage: true } };

let gateway: Gateway;
let key: string;
beforeAll(async () => {
  gateway = await startGateway({
    env: { GATEWAY_UPSTREAM_TIMEOUT_MS: '1000', GATEWAY_PROV_D_URL: 'http://127.0.0.1:9' },
  });
  ({ key } = await gateway.onboard());
});
afterAll(() => gateway.stop());
afterEach(() => {
  gateway.simulator.release();
  gateway.simulator.reset();
});

interface Seen {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
  /** The response broke off before its end. */
  broken: boolean;
}

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      `${gateway.proxyUrl}/v1/proxy${path}`,
      {
        method: 'POST',
        agent: false,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      },
      (response) => {
        const parts: Buffer[] = [];
        const seen = (broken: boolean) =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            body: Buffer.concat(parts),
            broken,
          });
        response.on('data', (part) => parts.push(part));
        response.on('end', () => seen(false));
        response.on('error', () => seen(true));
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify(body));
  });
}

const chat = (body: unknown = CHAT) => post('/prov_a/v1/chat/completions', body);

/** The one row of a request, with whether the ledger holds it. */
async function recorded(seen: Seen): Promise<Record<string, unknown>> {
  const id = seen.headers['x-gateway-request-id'];
  const rows = await eventually(async () => {
    const found = await gateway.sql(
      'select *, sequence_number is not null as in_ledger from requests where id = $1',
      [id],
    );
    if (found.length === 0) throw new Error('no row yet');
    return found;
  });
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

test('an upstream that cannot be reached is 502, in the request log and not in the ledger', async () => {
  const seen = await post('/prov_d/chat/completions', { ...CHAT, model: 'deepseek-v4-flash' });
  expect(seen.status).toBe(502);
  expect(JSON.parse(seen.body.toString())).toMatchObject({ error: 'upstream_unreachable' });
  expect(await recorded(seen)).toMatchObject({
    status_code: 502,
    refusal: 'upstream_unreachable',
    cost_microdollars: 0,
    in_ledger: false,
  });
});

test('an upstream that hangs up before it answers is 502, and in the ledger: it may have worked', async () => {
  gateway.simulator.script('prov_a', { fault: 'reset_before_headers' });
  const seen = await chat();
  expect(seen.status).toBe(502);
  expect(await recorded(seen)).toMatchObject({ status_code: 502, cost_microdollars: 0, in_ledger: true });
});

test('an upstream that says nothing in time is 504, and is hung up on', async () => {
  gateway.simulator.script('prov_a', { fault: 'hang' });
  const seen = await chat();
  expect(seen.status).toBe(504);
  expect(JSON.parse(seen.body.toString())).toMatchObject({ error: 'upstream_timeout' });
  expect(await recorded(seen)).toMatchObject({
    status_code: 504,
    refusal: 'upstream_timeout',
    in_ledger: true,
  });
  await gateway.simulator.settled();
  expect(gateway.simulator.calls()[0]!.endedBy).toBe('client_abort');
});

test.each([
  ['reset_mid_body', STREAM],
  ['half_body', STREAM],
  ['hang_mid_body', STREAM],
  ['reset_mid_body', CHAT],
  ['half_body', CHAT],
] as const)('%s is seen by the client as it is, and metered by what came', async (fault, body) => {
  gateway.simulator.script('prov_a', { fault, usage: { inputTokens: 1_000, outputTokens: 40 }, chunks: 20 });
  const seen = await chat(body);
  expect(seen).toMatchObject({ status: 200, broken: true });
  expect(seen.body.length).toBeGreaterThan(0);
  const row = await recorded(seen);
  expect(row).toMatchObject({ status_code: 200, usage_source: 'estimated', in_ledger: true });
  expect(row.anomalies).toContain('the provider broke the response off');
  expect(row.cost_microdollars).toBeGreaterThan(0);
});

test('a body longer than its content-length ends where the length says', async () => {
  gateway.simulator.script('prov_a', { fault: 'wrong_content_length' });
  const seen = await chat();
  expect(seen).toMatchObject({ status: 200, broken: false });
  expect(seen.body.length).toBe(Number(seen.headers['content-length']));
  expect(await recorded(seen)).toMatchObject({ status_code: 200, in_ledger: true });
});

test('garbage among the events changes nothing in what the good ones say', async () => {
  const usage = { inputTokens: 1_000, outputTokens: 500 };
  gateway.simulator.script('prov_a', { fault: 'garbage_sse', usage });
  const seen = await chat(STREAM);
  expect(seen.broken).toBe(false);
  expect(seen.body.toString()).toContain('no colon at all');
  expect(await recorded(seen)).toMatchObject({ usage_source: 'provider', cost_microdollars: 150 + 300 });
});

test.each([CHAT, STREAM])('an answer without usage is estimated, and says so', async (body) => {
  gateway.simulator.script('prov_a', { fault: 'no_usage', usage: { inputTokens: 9, outputTokens: 30 } });
  const row = await recorded(await chat(body));
  expect(row).toMatchObject({ usage_source: 'estimated', cost_status: 'priced' });
  expect(row.tokens_output).toBeGreaterThan(10);
  expect(row.cost_microdollars).toBeGreaterThan(0);
});

test.each([CHAT, STREAM])('a reported zero stays a zero', async (body) => {
  gateway.simulator.script('prov_a', {
    rawUsage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    text: 'words that could be counted',
  });
  expect(await recorded(await chat(body))).toMatchObject({
    usage_source: 'provider',
    tokens_input: 0,
    tokens_output: 0,
    cost_microdollars: 0,
    cost_status: 'priced',
  });
});

test.each(['early_end', 'error_event'] as const)(
  'a stream with %s is passed on and metered',
  async (fault) => {
    gateway.simulator.script('prov_a', {
      fault,
      chunks: 10,
      usage: { inputTokens: 1_000, outputTokens: 20 },
    });
    const seen = await chat(STREAM);
    expect(seen).toMatchObject({ status: 200, broken: false });
    const row = await recorded(seen);
    expect(row).toMatchObject({ status_code: 200, usage_source: 'estimated', in_ledger: true });
    if (fault === 'error_event') expect(JSON.stringify(row.anomalies)).toContain('error in the stream');
  },
);

test.each([400, 401, 403, 404, 408, 409, 429, 500, 503, 529])(
  'a %i of the provider comes back as its own',
  async (status) => {
    gateway.simulator.script('prov_a', { status, headers: { 'retry-after': '7', 'x-should-retry': 'true' } });
    const seen = await chat();
    const direct = await fetch(`${gateway.simulator.providerUrl('prov_a')}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: JSON.stringify(CHAT),
    });
    expect(seen.status).toBe(status);
    expect(seen.body.toString()).toBe(await direct.text());
    expect(seen.headers).toMatchObject({ 'retry-after': '7', 'x-should-retry': 'true' });
    expect(await recorded(seen)).toMatchObject({
      status_code: status,
      refusal: null,
      cost_microdollars: 0,
      in_ledger: true,
    });
  },
);

async function packedZeros(megabytes: number): Promise<Buffer> {
  const gzip = createGzip();
  const parts: Buffer[] = [];
  gzip.on('data', (part) => parts.push(part));
  const part = Buffer.alloc(1024 * 1024);
  for (let n = 0; n < megabytes; n += 1)
    if (!gzip.write(part)) await new Promise((resolve) => gzip.once('drain', resolve));
  await new Promise((resolve) => gzip.once('end', resolve).end());
  return Buffer.concat(parts);
}

test('a body that unpacks to 300 MB is passed on packed, and memory does not grow with it', async () => {
  const bomb = await packedZeros(300);
  gateway.simulator.script('prov_a', { body: bomb, headers: { 'content-encoding': 'gzip' } });
  const before = process.memoryUsage();
  let most = 0;
  const watch = setInterval(() => {
    const { arrayBuffers } = process.memoryUsage();
    most = Math.max(most, arrayBuffers - before.arrayBuffers);
  }, 5);
  const seen = await post('/prov_a/v1/chat/completions', CHAT, { 'accept-encoding': 'gzip' });
  clearInterval(watch);
  expect(seen.body.equals(bomb)).toBe(true);
  expect(most).toBeLessThan(64 * 1024 * 1024);
  expect((await recorded(seen)).anomalies).toContain('the unpacked response is too large to read');
});

test('a thousand encodings on one answer are passed on and not unpacked', async () => {
  const encodings = Array.from({ length: 1_000 }, () => 'gzip').join(', ');
  gateway.simulator.script('prov_a', { body: '{}', headers: { 'content-encoding': encodings } });
  const seen = await chat();
  expect(seen).toMatchObject({ status: 200, broken: false });
  expect(seen.headers['content-encoding']).toBe(encodings);
  expect((await recorded(seen)).anomalies).toContain('the content encoding cannot be read');
});
