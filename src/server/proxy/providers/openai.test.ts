import { describe, expect, test } from 'vitest';
import type { Provider } from '../../../contract/providers.ts';
import { emptyUsage, type Usage } from '../../domain/usage.ts';
import { openUsageReader, type Reading, readRequest } from './index.ts';

type Json = Record<string, unknown>;

async function read(path: string, body: Buffer | Json, provider: Provider = 'prov_a'): Promise<Reading> {
  const facts = readRequest(provider, 'POST', path, 'application/json', Buffer.from('{"model":"asked"}'));
  const contentType = Buffer.isBuffer(body) ? 'text/event-stream; charset=utf-8' : 'application/json';
  const reader = openUsageReader(facts, 200, {
    contentType,
    contentEncoding: undefined,
    get: () => undefined,
  });
  reader.push(Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)));
  return reader.finish();
}

function events(...list: readonly (Json | string)[]): Buffer {
  return Buffer.from(
    list.map((data) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join(''),
  );
}

function usage(parts: Partial<Usage>): Usage {
  return { ...emptyUsage(), ...parts };
}

const CHAT = '/v1/chat/completions';
const delta = (content: string): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'gpt-4o-2024-08-06',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  usage: null,
});

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
    expect(JSON.parse(reading.raw ?? '')).toEqual(reported);
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

describe('streams', () => {
  test('a chat stream with usage costs what the whole response costs', async () => {
    const reported = { prompt_tokens: 19, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } };
    const reading = await read(
      CHAT,
      events(delta('Hel'), delta('lo'), { choices: [], usage: reported }, '[DONE]'),
    );
    expect(reading).toMatchObject({
      source: 'provider',
      complete: true,
      outputText: '',
      modelServed: 'gpt-4o-2024-08-06',
    });
    expect(reading.usage).toEqual((await read(CHAT, { usage: reported })).usage);
  });

  test('a chat stream without usage hands over its text for an estimate', async () => {
    const tool = { choices: [{ delta: { tool_calls: [{ function: { name: 'f', arguments: '{"a":' } }] } }] };
    const reading = await read(CHAT, events(delta('Héllo "x"\n'), delta('usage":{'), tool, '[DONE]'));
    expect(reading).toMatchObject({ source: 'none', usage: null, complete: true, outputReported: false });
    expect(reading.outputText).toBe('Héllo "x"\nusage":{f{"a":');
  });

  test('a chat stream cut short is incomplete and keeps the text so far', async () => {
    const whole = events(delta('one '), delta('two'));
    const reading = await read(CHAT, whole.subarray(0, whole.length - 40));
    expect(reading).toMatchObject({ source: 'none', complete: false, outputText: 'one two' });
  });

  test('cumulative usage on every chunk counts once', async () => {
    const chunk = (count: number): Json => ({
      ...delta('x'),
      usage: { prompt_tokens: 9, completion_tokens: count },
    });
    const reading = await read(CHAT, events(chunk(1), chunk(2), chunk(3), '[DONE]'), 'prov_d');
    expect(reading.usage).toEqual(usage({ input: 9, output: 3 }));
  });

  test('Groq usage stated in two places counts once, and alone counts too', async () => {
    const reported = { queue_time: 0.1, prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
    const twice = events(
      delta('x'),
      { choices: [], x_groq: { id: 'r', usage: reported }, usage: reported },
      '[DONE]',
    );
    const alone = events(delta('x'), { choices: [], x_groq: { id: 'r', usage: reported } }, '[DONE]');
    expect((await read('/chat/completions', twice, 'prov_d')).usage).toEqual(usage({ input: 9, output: 3 }));
    expect((await read('/chat/completions', alone, 'prov_d')).usage).toEqual(usage({ input: 9, output: 3 }));
  });

  test('Mistral and DeepSeek usage on the last content chunk is complete even without an end mark', async () => {
    const last = {
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 7, completion_tokens: 2 },
    };
    const reading = await read('/v1/chat/completions', events(delta('x'), last), 'prov_d');
    expect(reading).toMatchObject({ complete: true, usage: usage({ input: 7, output: 2 }) });
  });

  test('keep-alive comments and blank lines before the JSON are passed over', async () => {
    const stream = Buffer.concat([
      Buffer.from(': keep-alive\n\n'),
      events({ usage: { prompt_tokens: 1, completion_tokens: 2 } }),
    ]);
    expect((await read(CHAT, stream, 'prov_d')).usage).toEqual(usage({ input: 1, output: 2 }));
  });

  test('responses report usage in their last event, however large it is', async () => {
    const output = [
      { type: 'web_search_call', action: { type: 'search', query: 'q' } },
      { type: 'web_search_call', action: { type: 'open_page', url: 'u' } },
      { type: 'web_search_call' },
      {
        type: 'message',
        content: [{ type: 'output_text', text: 'x'.repeat(1_000_000), usage: { input_tokens: 1 } }],
      },
    ];
    const reported = { input_tokens: 37, output_tokens: 11, input_tokens_details: { cached_tokens: 7 } };
    const response = {
      model: 'gpt-6-sol',
      service_tier: 'flex',
      status: 'completed',
      output,
      usage: reported,
    };
    const created = {
      type: 'response.created',
      response: { model: 'gpt-6-sol', status: 'in_progress', usage: null },
    };
    const text = { type: 'response.output_text.delta', delta: 'hi' };
    const reading = await read(
      '/v1/responses',
      events(created, text, { type: 'response.completed', response }),
    );
    expect(reading).toMatchObject({
      complete: true,
      modelServed: 'gpt-6-sol',
      terms: { tier: 'flex', region: null },
      usage: usage({ input: 30, cached_read: 7, output: 11, web_searches: 2 }),
    });
    expect((await read('/v1/responses', response)).usage).toEqual(reading.usage);
  });

  test('billable searches stated by the provider win over counting them', async () => {
    const response = {
      output: [{ type: 'web_search_call' }, { type: 'web_search_call' }],
      tool_usage: { web_search: { num_requests: 1 }, image_gen: { total_tokens: 0 } },
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    expect((await read('/v1/responses', response)).usage?.web_searches).toBe(1);
  });

  test('a declared but unused search tool is not counted', async () => {
    const response = {
      tools: [{ type: 'web_search' }],
      output: [],
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    expect((await read('/v1/responses', response)).usage?.web_searches).toBe(0);
  });

  test.each([
    ['/v1/images/generations', 'image_generation.completed', usage({ input: 3, image_output: 5 })],
    ['/v1/audio/transcriptions', 'transcript.text.done', usage({ audio_input: 3, output: 5 })],
    ['/v1/audio/speech', 'speech.audio.done', usage({ input: 3, audio_output: 5 })],
  ])('%s streams its usage in %s', async (path, type, expected) => {
    const last = { type, b64_json: 'AAAA', usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 } };
    const reading = await read(path, events({ type: 'x.delta', delta: 'A' }, last));
    expect(reading).toMatchObject({ complete: true, usage: expected });
  });

  test.each([
    [
      'a chat error chunk',
      { error: { message: 'overloaded', type: 'server_error' } },
      'server_error: overloaded',
    ],
    [
      'a responses error event',
      { type: 'error', code: 'rate_limit', message: 'slow down' },
      'rate_limit: slow down',
    ],
    [
      'a failed response',
      {
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'server_error', message: 'x' }, usage: null },
      },
      'server_error: x',
    ],
  ])('%s inside a success is told', async (_, data, streamError) => {
    expect(await read(CHAT, events(delta('x'), data))).toMatchObject({ streamError, source: 'none' });
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
