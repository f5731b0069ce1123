import { describe, expect, test } from 'vitest';
import { emptyUsage, type Usage } from '../../domain/usage.ts';
import { openUsageReader, type Reading, readRequest } from './index.ts';

type Json = Record<string, unknown>;

async function read(path: string, body: Json): Promise<Reading> {
  const facts = readRequest('prov_a', 'POST', path, 'application/json', Buffer.from('{"model":"asked"}'));
  const contentType = 'application/json';
  const reader = openUsageReader(facts, 200, {
    contentType,
    contentEncoding: undefined,
    get: () => undefined,
  });
  reader.push(Buffer.from(JSON.stringify(body)));
  return reader.finish();
}

function usage(parts: Partial<Usage>): Usage {
  return { ...emptyUsage(), ...parts };
}

const CHAT = '/v1/chat/completions';

describe('usage objects of the OpenAI family become disjoint buckets', () => {
  const cases: readonly [name: string, path: string, reported: Json, parts: Partial<Usage>][] = [
    [
      'plain chat',
      CHAT,
      { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 },
      { input: 19, output: 10 },
    ],
    [
      'chat with every detail',
      CHAT,
      {
        prompt_tokens: 1000,
        completion_tokens: 500,
        total_tokens: 1500,
        prompt_tokens_details: {
          cached_tokens: 300,
          cache_write_tokens: 200,
          audio_tokens: 100,
          image_tokens: 50,
        },
        completion_tokens_details: {
          reasoning_tokens: 320,
          audio_tokens: 60,
          rejected_prediction_tokens: 10,
        },
      },
      {
        input: 350,
        cached_read: 300,
        cache_write_5m: 200,
        audio_input: 100,
        image_input: 50,
        output: 120,
        reasoning: 320,
        audio_output: 60,
      },
    ],
    [
      'responses with a cache write',
      '/v1/responses',
      {
        input_tokens: 18014,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 18011 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 5 },
        total_tokens: 18034,
      },
      { input: 3, cache_write_5m: 18011, output: 15, reasoning: 5 },
    ],
    ['embeddings', '/v1/embeddings', { prompt_tokens: 8, total_tokens: 8 }, { input: 8 }],
    ['embeddings that state the total only', '/v1/embeddings', { total_tokens: 8 }, { input: 8 }],
    [
      'images',
      '/v1/images/generations',
      {
        input_tokens: 50,
        input_tokens_details: { text_tokens: 10, image_tokens: 40 },
        output_tokens: 4160,
        total_tokens: 4210,
      },
      { input: 10, image_input: 40, image_output: 4160 },
    ],
    [
      'images with text output named apart',
      '/v1/images/edits',
      { input_tokens: 5, output_tokens: 100, output_tokens_details: { image_tokens: 90, text_tokens: 10 } },
      { input: 5, output: 10, image_output: 90 },
    ],
    [
      'transcription by tokens',
      '/v1/audio/transcriptions',
      {
        type: 'tokens',
        input_tokens: 14,
        input_token_details: { text_tokens: 4, audio_tokens: 10 },
        output_tokens: 45,
        total_tokens: 59,
      },
      { input: 4, audio_input: 10, output: 45 },
    ],
    [
      'transcription by duration',
      '/v1/audio/transcriptions',
      { type: 'duration', seconds: 12.3456 },
      { audio_milliseconds: 12346 },
    ],
    ['an explicit zero', CHAT, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, {}],
    [
      'DeepSeek hit and miss',
      CHAT,
      {
        prompt_tokens: 100,
        completion_tokens: 40,
        total_tokens: 140,
        prompt_cache_hit_tokens: 64,
        prompt_cache_miss_tokens: 36,
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 25 },
      },
      { input: 36, cached_read: 64, output: 15, reasoning: 25 },
    ],
    [
      'Mistral audio seconds',
      CHAT,
      { prompt_audio_seconds: 203, prompt_tokens: 4, total_tokens: 3264, completion_tokens: 635 },
      { input: 4, output: 635, audio_milliseconds: 203_000 },
    ],
    [
      'Perplexity deep research',
      CHAT,
      {
        prompt_tokens: 33,
        completion_tokens: 7163,
        total_tokens: 7196,
        citation_tokens: 20016,
        num_search_queries: 18,
        reasoning_tokens: 73994,
      },
      { input: 33, output: 7163, reasoning: 73994, citation: 20016, web_searches: 18 },
    ],
    [
      'Perplexity search context',
      CHAT,
      { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11, search_context_size: 'high' },
      { input: 5, output: 6, search_context: 'high' },
    ],
    [
      'xAI with reasoning outside the completion',
      CHAT,
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        prompt_tokens_details: { text_tokens: 32, cached_tokens: 6 },
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      { input: 26, cached_read: 6, output: 9, reasoning: 94 },
    ],
  ];

  test.each(cases)('%s', async (_, path, reported, parts) => {
    const reading = await read(path, { id: 'x', model: 'served', usage: reported });
    expect(reading).toMatchObject({
      source: 'provider',
      complete: true,
      anomalies: [],
      modelServed: 'served',
    });
    expect(reading.usage).toEqual(usage(parts));
  });
});

describe('contradictory and absurd figures never go negative and are noted', () => {
  const cases: readonly [name: string, reported: Json, parts: Partial<Usage> | null, anomaly: string][] = [
    [
      'more cached than input',
      { prompt_tokens: 56_322, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 72_960 } },
      { cached_read: 56_322, output: 1 },
      'cached exceeds input',
    ],
    [
      'more reasoning than output',
      { prompt_tokens: 1, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 9 } },
      { input: 1, reasoning: 5 },
      'reasoning exceeds output',
    ],
    [
      'a negative count',
      { prompt_tokens: -4, completion_tokens: 5 },
      { output: 5 },
      'prompt_tokens is negative',
    ],
    [
      'a string',
      { prompt_tokens: '12', completion_tokens: 5 },
      { output: 5 },
      'prompt_tokens is not a plausible count',
    ],
    [
      '1e308',
      { prompt_tokens: 1e308, completion_tokens: 5 },
      { output: 5 },
      'prompt_tokens is not a plausible count',
    ],
    ['beyond 2^53', { prompt_tokens: 2 ** 60 }, null, 'prompt_tokens is not a plausible count'],
    [
      'a fraction',
      { prompt_tokens: 1.5, completion_tokens: 5 },
      { output: 5 },
      'prompt_tokens is not a plausible count',
    ],
  ];

  test.each(cases)('%s', async (_, reported, parts, anomaly) => {
    const reading = await read(CHAT, { usage: reported });
    expect(reading.usage).toEqual(parts === null ? null : usage(parts));
    expect(reading.anomalies).toContain(anomaly);
  });

  test('audio that was partly read from the cache fits into what is left', async () => {
    const details = { cached_tokens: 80, audio_tokens: 60 };
    const reading = await read(CHAT, {
      usage: { prompt_tokens: 100, completion_tokens: 0, prompt_tokens_details: details },
    });
    expect(reading.usage).toEqual(usage({ cached_read: 80, audio_input: 20 }));
  });
});

test.each([
  ['default', null],
  ['auto', null],
  ['flex', 'flex'],
  ['priority', 'priority'],
  ['fast', 'priority'],
  ['ultrafast', 'fast'],
  ['on_demand', null],
])('served tier %s is billed as %s', async (service_tier, tier) => {
  const reading = await read(CHAT, { service_tier, usage: { prompt_tokens: 1, completion_tokens: 1 } });
  expect(reading).toMatchObject({ terms: { tier, region: null }, anomalies: [] });
});

test('a background response that is only queued says that its usage is not known yet', async () => {
  const reading = await read('/v1/responses', { status: 'queued', usage: null, output: [] });
  expect(reading).toMatchObject({
    source: 'none',
    anomalies: ['runs in the background, usage not yet known'],
  });
});
