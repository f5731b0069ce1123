import { describe, expect, test } from 'vitest';
import { emptyUsage, type Usage } from '../../domain/usage.ts';
import { openUsageReader, type Reading, readRequest } from './index.ts';

type Json = Record<string, unknown>;

async function read(body: Buffer | Json): Promise<Reading> {
  const facts = readRequest(
    'prov_b',
    'POST',
    '/v1/messages?beta=true',
    'application/json',
    Buffer.from('{}'),
  );
  const contentType = Buffer.isBuffer(body) ? 'text/event-stream; charset=utf-8' : 'application/json';
  const reader = openUsageReader(facts, 200, {
    contentType,
    contentEncoding: undefined,
    get: () => undefined,
  });
  reader.push(Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)));
  return reader.finish();
}

function events(...list: readonly Json[]): Buffer {
  return Buffer.from(list.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join(''));
}

function usage(parts: Partial<Usage>): Usage {
  return { ...emptyUsage(), ...parts };
}

const FULL = {
  input_tokens: 21,
  cache_creation_input_tokens: 1100,
  cache_read_input_tokens: 5000,
  cache_creation: { ephemeral_5m_input_tokens: 800, ephemeral_1h_input_tokens: 300 },
  output_tokens: 393,
  output_tokens_details: { thinking_tokens: 93 },
  server_tool_use: { web_search_requests: 2, web_fetch_requests: 4 },
  service_tier: 'standard',
  inference_geo: 'us',
};
const FULL_BUCKETS = usage({
  input: 21,
  cached_read: 5000,
  cache_write_5m: 800,
  cache_write_1h: 300,
  output: 300,
  reasoning: 93,
  web_searches: 2,
});
const start = (reported: Json): Json => ({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5-5',
    content: [],
    usage: reported,
  },
});
const text = (piece: string): Json => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: piece },
});
const end = (reported: Json): Json => ({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: reported,
});
const stop: Json = { type: 'message_stop' };

describe('messages', () => {
  test('a whole message is read into its buckets', async () => {
    const reading = await read({ type: 'message', model: 'claude-opus-5-5', content: [], usage: FULL });
    expect(reading).toMatchObject({
      source: 'provider',
      complete: true,
      modelServed: 'claude-opus-5-5',
      terms: { tier: null, region: 'us' },
      usage: FULL_BUCKETS,
      anomalies: [],
    });
  });

  test('a stream of the same call reads the same', async () => {
    const stream = events(
      start({ ...FULL, output_tokens: 1, server_tool_use: null, output_tokens_details: null }),
      { type: 'ping' },
      text('Hello'),
      end({ output_tokens: 150, input_tokens: null }),
      end({
        output_tokens: 393,
        output_tokens_details: { thinking_tokens: 93 },
        server_tool_use: { web_search_requests: 2 },
      }),
      stop,
    );
    expect(await read(stream)).toMatchObject({
      complete: true,
      usage: FULL_BUCKETS,
      outputText: '',
      outputReported: true,
    });
  });

  test('cache writes that grow after the start keep the split and add to the five-minute kind', async () => {
    const stream = events(start(FULL), end({ cache_creation_input_tokens: 1500, output_tokens: 10 }), stop);
    expect((await read(stream)).usage).toMatchObject({ cache_write_5m: 1200, cache_write_1h: 300 });
  });

  test('zeros at the start are replaced by what the end says', async () => {
    const stream = events(
      start({ input_tokens: 0, output_tokens: 0 }),
      end({ input_tokens: 77, output_tokens: 8 }),
      stop,
    );
    expect((await read(stream)).usage).toEqual(usage({ input: 77, output: 8 }));
  });

  test('a stream cut before its last usage keeps the input and hands over the text', async () => {
    const thinking = { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'hm ' } };
    const json = {
      type: 'content_block_delta',
      delta: { type: 'input_json_delta', partial_json: '{"a":1}' },
    };
    const reading = await read(
      events(start({ input_tokens: 12, output_tokens: 2 }), thinking, text('Hi '), json),
    );
    expect(reading).toMatchObject({
      source: 'provider',
      complete: false,
      outputReported: false,
      outputText: 'hm Hi {"a":1}',
      usage: usage({ input: 12, output: 2 }),
    });
  });

  test('an error after the start is told and what was counted stays', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect(await read(events(start({ input_tokens: 12, output_tokens: 1 }), error))).toMatchObject({
      streamError: 'overloaded_error: Overloaded',
      complete: false,
      usage: usage({ input: 12, output: 1 }),
    });
  });

  test('usage inside the generated text is not taken for usage', async () => {
    const decoy = text(
      '{"usage":{"output_tokens":999999}}\n\ndata: {"type":"message_delta","usage":{"output_tokens":5}}',
    );
    const stream = events(
      start({ input_tokens: 1, output_tokens: 1 }),
      decoy,
      end({ output_tokens: 2 }),
      stop,
    );
    expect((await read(stream)).usage).toEqual(usage({ input: 1, output: 2 }));
  });

  test('compaction runs on the same model and is added', async () => {
    const iterations = [
      { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500, cache_read_input_tokens: 0 },
      { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
    ];
    const reading = await read({
      type: 'message',
      usage: { input_tokens: 23_000, output_tokens: 1_000, iterations },
    });
    expect(reading.usage).toEqual(usage({ input: 203_000, output: 4_500 }));
  });

  test.each([
    ['fast speed', { speed: 'fast' }, { tier: 'fast', region: null }],
    ['batch', { service_tier: 'batch' }, { tier: 'batch', region: null }],
    ['priority, paid in advance', { service_tier: 'priority' }, { tier: null, region: null }],
    ['global inference', { inference_geo: 'global' }, { tier: null, region: null }],
  ])('%s', async (_, extra, terms) => {
    const reading = await read({ usage: { input_tokens: 1, output_tokens: 1, ...extra } });
    expect(reading.terms).toEqual(terms);
  });

  test('a split larger than its total is noted and never makes a negative bucket', async () => {
    const reported = { ...FULL, cache_creation_input_tokens: 100 };
    const reading = await read({ usage: reported });
    expect(reading.usage).toMatchObject({ cache_write_5m: 0, cache_write_1h: 100 });
    expect(reading.anomalies).toEqual(['cache write split exceeds its total']);
  });
});
