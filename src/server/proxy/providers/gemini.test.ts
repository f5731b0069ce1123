import { describe, expect, test } from 'vitest';
import { emptyUsage, type Usage } from '../../domain/usage.ts';
import { openUsageReader, type Reading, readRequest } from './index.ts';

type Json = Record<string, unknown>;

const STREAM_PATH = '/v1beta/models/gemini-3.8-flash:streamGenerateContent';

async function read(
  body: Buffer | Json,
  path = STREAM_PATH,
  headers: Record<string, string> = {},
): Promise<Reading> {
  const facts = readRequest('prov_c', 'POST', path, 'application/json', Buffer.from('{}'));
  const contentType = Buffer.isBuffer(body) && body[0] === 0x64 ? 'text/event-stream' : 'application/json';
  const reader = openUsageReader(facts, 200, {
    contentType,
    contentEncoding: undefined,
    get: (name) => headers[name],
  });
  reader.push(Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)));
  return reader.finish();
}

const events = (...list: readonly Json[]): Buffer =>
  Buffer.from(list.map((data) => `data: ${JSON.stringify(data)}\r\n\r\n`).join(''));

const usage = (parts: Partial<Usage>): Usage => ({ ...emptyUsage(), ...parts });

const say = (text: string, extra: Json = {}): Json => ({
  candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0 }],
  modelVersion: 'gemini-3.8-flash-001',
  ...extra,
});
const finished = (usageMetadata?: Json): Json => ({
  candidates: [{ content: { parts: [{ text: '' }] }, finishReason: 'STOP' }],
  ...(usageMetadata === undefined ? {} : { usageMetadata }),
});

describe('usageMetadata becomes disjoint buckets', () => {
  const cases: readonly [name: string, reported: Json, parts: Partial<Usage>][] = [
    [
      'plain',
      { promptTokenCount: 8, candidatesTokenCount: 20, totalTokenCount: 28 },
      { input: 8, output: 20 },
    ],
    [
      'thoughts outside the candidates',
      { promptTokenCount: 100, candidatesTokenCount: 150, thoughtsTokenCount: 8000, totalTokenCount: 8250 },
      { input: 100, output: 150, reasoning: 8000 },
    ],
    [
      'thoughts inside the candidates',
      { promptTokenCount: 100, candidatesTokenCount: 150, thoughtsTokenCount: 80, totalTokenCount: 250 },
      { input: 100, output: 70, reasoning: 80 },
    ],
    [
      'cache, tools and modalities',
      {
        promptTokenCount: 1000,
        cachedContentTokenCount: 400,
        toolUsePromptTokenCount: 50,
        candidatesTokenCount: 30,
        totalTokenCount: 1080,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 600 },
          { modality: 'AUDIO', tokenCount: 300 },
          { modality: 'IMAGE', tokenCount: 100 },
        ],
        cacheTokensDetails: [
          { modality: 'TEXT', tokenCount: 300 },
          { modality: 'AUDIO', tokenCount: 100 },
        ],
        candidatesTokensDetails: [
          { modality: 'IMAGE', tokenCount: 20 },
          { modality: 'AUDIO', tokenCount: 5 },
        ],
      },
      {
        input: 350,
        cached_read: 400,
        audio_input: 200,
        image_input: 100,
        output: 5,
        image_output: 20,
        audio_output: 5,
      },
    ],
    ['a blocked prompt', { promptTokenCount: 12, totalTokenCount: 12 }, { input: 12 }],
    ['a created cache', { totalTokenCount: 5000 }, { input: 5000 }],
  ];

  test.each(cases)('%s', async (_, reported, parts) => {
    const reading = await read({ ...finished(reported), modelVersion: 'gemini-3.8-flash-001' });
    expect(reading).toMatchObject({
      source: 'provider',
      complete: true,
      outputReported: true,
      anomalies: [],
      modelServed: 'gemini-3.8-flash-001',
    });
    expect(reading.usage).toEqual(usage(parts));
  });

  test('tokens in the total that no part names are billed as reasoning and noted', async () => {
    const reading = await read(
      finished({ promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 40 }),
    );
    expect(reading.usage).toEqual(usage({ input: 10, output: 5, reasoning: 25 }));
    expect(reading.anomalies).toEqual(['total exceeds its parts']);
  });

  test('more cached than prompt never makes a negative bucket', async () => {
    const reported = {
      promptTokenCount: 10,
      cachedContentTokenCount: 50,
      candidatesTokenCount: 5,
      totalTokenCount: 15,
    };
    const reading = await read(finished(reported));
    expect(reading.usage).toEqual(usage({ cached_read: 10, output: 5 }));
    expect(reading.anomalies).toEqual(['cached exceeds input']);
  });
});

describe('streams', () => {
  const first = { promptTokenCount: 8, candidatesTokenCount: 2, totalTokenCount: 10 };
  const last = { promptTokenCount: 8, candidatesTokenCount: 9, thoughtsTokenCount: 4, totalTokenCount: 21 };
  const expected = usage({ input: 8, output: 9, reasoning: 4 });

  test('the last usage counts and a chunk without any leaves it alone', async () => {
    const stream = events(say('a', { usageMetadata: first }), say('b', { usageMetadata: last }), finished());
    expect(await read(stream)).toMatchObject({ complete: true, usage: expected, outputText: '' });
  });

  test('a streamed JSON array reads the same as events', async () => {
    const list = [say('a', { usageMetadata: first }), say('b'), finished(last)];
    const pretty = Buffer.from(`[${list.map((item) => JSON.stringify(item, null, 2)).join('\n,\r\n')}\n]\n`);
    expect(await read(pretty)).toMatchObject({
      complete: true,
      usage: expected,
      modelServed: 'gemini-3.8-flash-001',
    });
    expect(await read(pretty.subarray(0, pretty.length - 4))).toMatchObject({
      complete: false,
      usage: expected,
    });
  });

  test('a stream that states only its prompt before it is cut hands over the text', async () => {
    const stream = events(
      say('Hel', { usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 } }),
      say('lo'),
    );
    expect(await read(stream)).toMatchObject({
      source: 'provider',
      complete: false,
      outputReported: false,
      outputText: 'Hello',
    });
  });

  test('an error inside the stream is told', async () => {
    const error = { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } };
    expect((await read(events(say('x'), error))).streamError).toBe('503: overloaded');
  });
});

test.each([
  ['flex', 'flex'],
  ['PRIORITY', 'priority'],
  ['standard', null],
])('the tier header %s is billed as %s', async (header, tier) => {
  const reading = await read(finished({ promptTokenCount: 1 }), STREAM_PATH, {
    'x-gemini-service-tier': header,
  });
  expect(reading.terms).toEqual({ tier, region: null });
});

test('search queries are counted each on new models and once per prompt on older ones', async () => {
  const grounded = (modelVersion: string): Json => ({
    candidates: [{ finishReason: 'STOP', groundingMetadata: { webSearchQueries: ['a', 'b', 'c'] } }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion,
  });
  expect((await read(grounded('gemini-3.1-pro')))?.usage?.web_searches).toBe(3);
  expect((await read(grounded('gemini-2.5-pro')))?.usage?.web_searches).toBe(1);
});

test('interactions are read in both of their forms', async () => {
  const reported = {
    total_input_tokens: 7,
    total_output_tokens: 20,
    total_thought_tokens: 3,
    total_tokens: 30,
  };
  const whole = { id: 'i', model: 'gemini-3.8-flash', status: 'completed', usage: reported };
  const expected = usage({ input: 7, output: 20, reasoning: 3 });
  expect((await read(whole, '/v1beta/interactions')).usage).toEqual(expected);
  const stream = events(
    { event_type: 'interaction.created', interaction: { model: 'gemini-3.8-flash' } },
    {
      event_type: 'interaction.completed',
      interaction: { model: 'gemini-3.8-flash', usage: reported },
    },
  );
  expect(await read(stream, '/v1beta/interactions')).toMatchObject({ complete: true, usage: expected });
});

test('an embedding without usage is none, not zero', async () => {
  const reading = await read(
    { embedding: { values: [0.1, 0.2] } },
    '/v1beta/models/gemini-embedding-001:embedContent',
  );
  expect(reading).toMatchObject({ source: 'none', usage: null, complete: true });
});
