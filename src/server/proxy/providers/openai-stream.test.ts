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

  test('text cut inside an escape ends before it', async () => {
    const stream = Buffer.from('data: {"choices":[{"delta":{"content":"caf\\u00e9 \\\\\\ud83');
    expect((await read(CHAT, stream)).outputText).toBe('café \\');
  });

  test('audio is not taken for text', async () => {
    const audio = { type: 'response.audio.delta', delta: 'UklGRg==' };
    const transcript = { type: 'response.audio_transcript.delta', delta: 'Hi' };
    expect((await read('/v1/responses', events(audio, transcript, audio))).outputText).toBe('Hi');
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
