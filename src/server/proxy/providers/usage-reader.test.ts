import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Provider } from '../../../contract/providers.ts';
import { TOKEN_BUCKETS, tokensInput, tokensOutput } from '../../domain/usage.ts';
import { openUsageReader, type Reading, readRequest } from './index.ts';

interface Exchange {
  provider: Provider;
  path: string;
  contentType: string;
  body: string;
}

const decoy = '\\"usage\\":{\\"prompt_tokens\\":999}} \\u00e9 é 🦊 \\ud83e\\udd8a';
const EXCHANGES: Record<string, Exchange> = {
  'chat stream': {
    provider: 'prov_a',
    path: '/v1/chat/completions',
    contentType: 'text/event-stream',
    body:
      `\ufeff: hi\r\ndata: {"model":"gpt-4o-2024","choices":[{"delta":{"content":"${decoy}"}}],"usage":null}\r\n\r\n` +
      'data: {"choices":[],"usage":{"prompt_tokens":19,"completion_tokens":7,\r\ndata: "total_tokens":26}}\r\n\r\ndata: [DONE]\r\n\r\n',
  },
  'chat stream without usage': {
    provider: 'prov_a',
    path: '/v1/chat/completions',
    contentType: 'text/event-stream',
    body: `data: {"choices":[{"delta":{"content":"${decoy}"}}]}\n\ndata: {"choices":[{"delta":{"content":"b"}}]}\n\n`,
  },
  'chat after blank lines': {
    provider: 'prov_d',
    path: '/chat/completions',
    contentType: 'application/json',
    body: `\n\n\n{"model":"deepseek","choices":[{"message":{"content":"${decoy}"}}],"usage":{"prompt_tokens":5,"completion_tokens":6}}`,
  },
  'messages stream': {
    provider: 'prov_b',
    path: '/v1/messages',
    contentType: 'text/event-stream; charset=utf-8',
    body:
      'event: message_start\ndata: {"type":"message_start","message":{"model":"claude","usage":{"input_tokens":9,"cache_creation_input_tokens":40,"cache_creation":{"ephemeral_1h_input_tokens":30,"ephemeral_5m_input_tokens":10},"output_tokens":1}}}\n\n' +
      `event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"${decoy}"}}\n\n` +
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  },
  'generate array': {
    provider: 'prov_c',
    path: '/v1beta/models/gemini-3.8-flash:streamGenerateContent',
    contentType: 'application/json; charset=UTF-8',
    body: `[{"candidates":[{"content":{"parts":[{"text":"${decoy}"}]}}],"usageMetadata":{"promptTokenCount":4}}\r\n,\r\n{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":8,"totalTokenCount":12},"modelVersion":"gemini-3.8"}]`,
  },
};
const names = Object.keys(EXCHANGES);

async function read(
  exchange: Exchange,
  bytes: Buffer,
  { cuts = [] as readonly number[], encoding = undefined as string | undefined, status = 200 } = {},
): Promise<Reading> {
  const facts = readRequest(exchange.provider, 'POST', exchange.path, 'application/json', Buffer.from('{}'));
  const reader = openUsageReader(facts, status, {
    contentType: exchange.contentType,
    contentEncoding: encoding,
    get: () => undefined,
  });
  const edges = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])];
  edges.sort((a, b) => a - b);
  for (let at = 0; at + 1 < edges.length; at += 1)
    reader.push(Buffer.from(bytes.subarray(edges[at], edges[at + 1])));
  return reader.finish();
}

describe('a reading', () => {
  test('is the same however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...names),
        fc.array(fc.nat(), { maxLength: 40 }),
        async (name, cuts) => {
          const exchange = EXCHANGES[name]!;
          const bytes = Buffer.from(exchange.body);
          expect(await read(exchange, bytes, { cuts })).toEqual(await read(exchange, bytes));
        },
      ),
      { numRuns: 400 },
    );
  });

  test('is the same for every single byte pushed alone', async () => {
    for (const exchange of Object.values(EXCHANGES)) {
      const bytes = Buffer.from(exchange.body);
      const cuts = Array.from({ length: bytes.length }, (_, at) => at);
      expect(await read(exchange, bytes, { cuts })).toEqual(await read(exchange, bytes));
    }
  });

  test('of a body cut at any byte never fails, claims completeness only with the last usage, and has no negative bucket', async () => {
    for (const exchange of Object.values(EXCHANGES)) {
      const bytes = Buffer.from(exchange.body);
      const whole = await read(exchange, bytes);
      for (let end = 0; end < bytes.length; end += 1) {
        const reading = await read(exchange, bytes.subarray(0, end), { cuts: [end >> 1] });
        for (const bucket of TOKEN_BUCKETS) expect(reading.usage?.[bucket] ?? 0).toBeGreaterThanOrEqual(0);
        if (reading.complete) expect(reading.usage).toEqual(whole.usage);
      }
    }
  });

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ])('is the same through %s', async (encoding, pack) => {
    for (const exchange of Object.values(EXCHANGES)) {
      const plain = Buffer.from(exchange.body);
      const packed = pack(plain);
      const cuts = [1, 7, 20, packed.length - 3];
      expect(await read(exchange, packed, { encoding, cuts })).toEqual(await read(exchange, plain));
    }
  });

  test('of a packed stream that was cut keeps what had come', async () => {
    const exchange = EXCHANGES['messages stream']!;
    const packed = gzipSync(Buffer.from(exchange.body), { level: 0 });
    const reading = await read(exchange, packed.subarray(0, packed.length - 200), { encoding: 'gzip' });
    expect(reading).toMatchObject({ source: 'provider', complete: false, anomalies: [] });
    expect(reading.usage).toMatchObject({ input: 9, cache_write_1h: 30, cache_write_5m: 10 });
  });

  test('of an encoding it cannot read is none and says so', async () => {
    const exchange = EXCHANGES['chat stream']!;
    for (const encoding of ['zstd', 'gzip, br', 'compress']) {
      expect(await read(exchange, Buffer.from(exchange.body), { encoding })).toMatchObject({
        source: 'none',
        complete: false,
        anomalies: ['the content encoding cannot be read'],
      });
    }
  });

  test('of a body that is not what its encoding says is none', async () => {
    const exchange = EXCHANGES['chat after blank lines']!;
    const reading = await read(exchange, Buffer.from(exchange.body), { encoding: 'gzip', cuts: [5, 9] });
    expect(reading).toMatchObject({ source: 'none', anomalies: ['the response could not be unpacked'] });
  });

  test('of an error response is none even when its body states usage', async () => {
    const exchange = EXCHANGES['chat after blank lines']!;
    for (const status of [302, 400, 429, 500, 529]) {
      expect(await read(exchange, Buffer.from(exchange.body), { status })).toMatchObject({
        source: 'none',
        usage: null,
      });
    }
  });

  test('of an event stream under another content type is found by its first bytes', async () => {
    const exchange = { ...EXCHANGES['messages stream']!, contentType: 'application/json' };
    expect((await read(exchange, Buffer.from(exchange.body))).usage).toMatchObject({ input: 9, output: 15 });
  });

  test('of media or prose is none', async () => {
    const exchange = EXCHANGES['chat stream']!;
    const usage = '{"usage":{"prompt_tokens":1,"completion_tokens":1}}';
    for (const contentType of ['audio/mpeg', 'image/png', 'application/octet-stream']) {
      expect((await read({ ...exchange, contentType }, Buffer.from(usage))).source).toBe('none');
    }
    for (const body of ['', '   ', '<html>{"usage":{"prompt_tokens":1}}</html>', 'null', '[]', '"usage"']) {
      expect((await read({ ...exchange, contentType: 'text/plain' }, Buffer.from(body))).source).toBe('none');
    }
  });
});

describe('whatever a provider states', () => {
  const figure = fc.oneof(
    { weight: 8, arbitrary: fc.nat({ max: 2_000_000 }) },
    fc.constantFrom<unknown>(null, -1, 1.5, '7', 1e308, 2 ** 60, true, [], {}),
  );
  const figures = (...keys: readonly string[]): fc.Arbitrary<Record<string, unknown>> =>
    fc.record(Object.fromEntries(keys.map((key) => [key, figure])), { requiredKeys: [] });
  const chatUsage = fc
    .tuple(
      figures(
        'prompt_tokens',
        'completion_tokens',
        'total_tokens',
        'prompt_cache_hit_tokens',
        'citation_tokens',
      ),
      figures('cached_tokens', 'cache_write_tokens', 'audio_tokens', 'image_tokens'),
      figures('reasoning_tokens', 'audio_tokens', 'image_tokens'),
    )
    .map(([top, prompt, completion]) => ({
      ...top,
      prompt_tokens_details: prompt,
      completion_tokens_details: completion,
    }));
  const messageUsage = fc
    .tuple(
      figures('input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'),
      figures('ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'),
      figures('thinking_tokens'),
    )
    .map(([top, cache_creation, output_tokens_details]) => ({
      ...top,
      cache_creation,
      output_tokens_details,
    }));
  const generateUsage = figures(
    'promptTokenCount',
    'cachedContentTokenCount',
    'candidatesTokenCount',
    'thoughtsTokenCount',
    'toolUsePromptTokenCount',
    'totalTokenCount',
  );

  test('every bucket is a safe whole number from zero up, and a stream reads as the whole response does', async () => {
    const stated = fc.oneof(
      chatUsage.map((usage) => ({ name: 'chat stream', whole: { usage }, last: { choices: [], usage } })),
      messageUsage.map((usage) => ({
        name: 'messages stream',
        whole: { usage },
        last: { type: 'message_delta', usage },
      })),
      generateUsage.map((usageMetadata) => ({
        name: 'generate array',
        whole: { usageMetadata },
        last: { usageMetadata },
      })),
    );
    await fc.assert(
      fc.asyncProperty(stated, async ({ name, whole, last }) => {
        const exchange = EXCHANGES[name]!;
        const json = { ...exchange, contentType: 'application/json' };
        const events = { ...exchange, contentType: 'text/event-stream' };
        const { usage } = await read(json, Buffer.from(JSON.stringify(whole)));
        for (const bucket of TOKEN_BUCKETS) expect(Number.isSafeInteger(usage?.[bucket] ?? 0)).toBe(true);
        for (const bucket of TOKEN_BUCKETS) expect(usage?.[bucket] ?? 0).toBeGreaterThanOrEqual(0);
        expect((await read(events, Buffer.from(`data: ${JSON.stringify(last)}\n\n`))).usage).toEqual(usage);
      }),
      { numRuns: 500 },
    );
  });

  test('the input and output of a sane chat usage add up to what was stated', async () => {
    const sane = fc.record({
      prompt: fc.nat(10_000),
      completion: fc.nat(10_000),
      parts: fc.array(fc.nat(20_000), { minLength: 6, maxLength: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(sane, async ({ prompt, completion, parts }) => {
        const [cached_tokens, cache_write_tokens, audio_tokens, reasoning_tokens, image_tokens, audio] =
          parts;
        const usage = {
          prompt_tokens: prompt,
          completion_tokens: completion,
          total_tokens: prompt + completion,
          prompt_tokens_details: { cached_tokens, cache_write_tokens, audio_tokens },
          completion_tokens_details: { reasoning_tokens, image_tokens, audio_tokens: audio },
        };
        const reading = await read(
          EXCHANGES['chat after blank lines']!,
          Buffer.from(JSON.stringify({ usage })),
        );
        expect(tokensInput(reading.usage!)).toBe(prompt);
        expect(tokensOutput(reading.usage!)).toBe(completion);
      }),
    );
  });
});

test.each([
  ['prov_a', 'GET', '/v1/responses/resp_1'],
  ['prov_a', 'GET', '/v1/batches/batch_1'],
  ['prov_a', 'POST', '/v1/moderations'],
  ['prov_b', 'POST', '/v1/messages/count_tokens'],
] as const)('%s %s %s is never billed', async (provider, method, path) => {
  const facts = readRequest(provider, method, path, undefined, Buffer.alloc(0));
  const reader = openUsageReader(facts, 200, {
    contentType: undefined,
    contentEncoding: undefined,
    get: () => undefined,
  });
  reader.push(Buffer.from('{"usage":{"input_tokens":5,"output_tokens":5},"input_tokens":5}'));
  expect(await reader.finish()).toMatchObject({ source: 'none', usage: null, complete: true });
});
