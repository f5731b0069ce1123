import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Provider } from '../../src/contract/providers.ts';
import type { SimRule, SimUsage } from '../../src/simulator/index.ts';
import { type Gateway, startGateway } from '../harness.ts';
import { billOf, priceModel, recorded } from './billing.ts';

interface Shape {
  name: string;
  provider: Provider;
  model: string;
  path: string;
  body: Record<string, unknown> | FormData;
  /** Where and how the same call streams; absent: it does not. */
  stream?: { path?: string; body?: Record<string, unknown> };
  usage: Partial<SimUsage>;
  variant?: SimRule['variant'];
}

const MESSAGES = [{ role: 'user', content: 'twelve bytes' }];
const WITH_USAGE = { stream: true, stream_options: { include_usage: true } };
const TEXT: Partial<SimUsage> = {
  inputTokens: 1_003,
  cachedTokens: 207,
  outputTokens: 501,
  reasoningTokens: 120,
};
const CONTENTS = { contents: [{ parts: [{ text: 'twelve bytes' }] }] };
const GEMINI_PATH = '/v1beta/models/shape-gemini';

function upload(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob([new Uint8Array(50_000)]), 'a.wav');
  return form;
}

function compatible(variant: NonNullable<SimRule['variant']>, usage: Partial<SimUsage> = TEXT): Shape {
  return {
    name: `${variant} chat`,
    provider: 'prov_d',
    model: 'shape-compatible',
    path: '/chat/completions',
    body: { messages: MESSAGES },
    stream: { body: { stream: true } },
    usage,
    variant,
  };
}

const SHAPES: Shape[] = [
  {
    name: 'OpenAI chat',
    provider: 'prov_a',
    model: 'shape-chat',
    path: '/v1/chat/completions',
    body: { messages: MESSAGES },
    stream: { body: WITH_USAGE },
    usage: {
      ...TEXT,
      cacheWrite5mTokens: 99,
      audioInputTokens: 50,
      imageInputTokens: 31,
      audioOutputTokens: 41,
      acceptedPredictionTokens: 9,
      rejectedPredictionTokens: 5,
    },
  },
  {
    name: 'OpenAI responses with searches',
    provider: 'prov_a',
    model: 'shape-chat',
    path: '/v1/responses',
    body: { input: 'twelve bytes', tools: [{ type: 'web_search' }] },
    stream: { body: { stream: true } },
    usage: { ...TEXT, cacheWrite5mTokens: 77, webSearches: 3 },
  },
  {
    name: 'OpenAI completions',
    provider: 'prov_a',
    model: 'shape-chat',
    path: '/v1/completions',
    body: { prompt: 'twelve bytes' },
    stream: { body: WITH_USAGE },
    usage: { inputTokens: 1_003, outputTokens: 501 },
  },
  {
    name: 'OpenAI embeddings',
    provider: 'prov_a',
    model: 'shape-chat',
    path: '/v1/embeddings',
    body: { input: ['a', 'b'] },
    usage: { inputTokens: 777 },
  },
  {
    name: 'OpenAI images',
    provider: 'prov_a',
    model: 'gpt-image-shape',
    path: '/v1/images/generations',
    body: { prompt: 'a cat', n: 2 },
    stream: { body: { stream: true, partial_images: 2 } },
    usage: { inputTokens: 60, imageInputTokens: 10, outputTokens: 600, imageOutputTokens: 580 },
  },
  {
    name: 'OpenAI image edits',
    provider: 'prov_a',
    model: 'gpt-image-shape',
    path: '/v1/images/edits',
    body: upload({ model: 'gpt-image-shape', prompt: 'a dog' }),
    usage: { inputTokens: 400, imageInputTokens: 323, outputTokens: 272, imageOutputTokens: 272 },
  },
  {
    name: 'OpenAI transcription by tokens',
    provider: 'prov_a',
    model: 'shape-chat',
    path: '/v1/audio/transcriptions',
    body: upload({ model: 'shape-chat' }),
    usage: { inputTokens: 130, audioInputTokens: 100, outputTokens: 40 },
  },
  {
    name: 'OpenAI transcription by seconds',
    provider: 'prov_a',
    model: 'whisper-1',
    path: '/v1/audio/transcriptions',
    body: upload({ model: 'whisper-1' }),
    usage: { inputTokens: 0, outputTokens: 0, audioSeconds: 37 },
  },
  {
    name: 'OpenAI speech',
    provider: 'prov_a',
    model: 'shape-chat',
    path: '/v1/audio/speech',
    body: { input: 'hello', voice: 'alloy', stream_format: 'sse' },
    usage: { inputTokens: 12, outputTokens: 90, audioOutputTokens: 90 },
  },
  {
    name: 'Anthropic messages with both cache writes and searches',
    provider: 'prov_b',
    model: 'shape-message',
    path: '/v1/messages',
    body: { max_tokens: 900, messages: MESSAGES },
    stream: { body: { stream: true } },
    usage: { ...TEXT, cacheWrite5mTokens: 301, cacheWrite1hTokens: 203, webSearches: 2 },
  },
  {
    name: 'Anthropic messages from a server that tells its usage late',
    provider: 'prov_b',
    model: 'shape-message',
    path: '/v1/messages',
    body: { max_tokens: 900, messages: MESSAGES },
    stream: { body: { stream: true } },
    usage: { ...TEXT, cacheWrite5mTokens: 301 },
    variant: 'late_usage',
  },
  ...(['', 'inclusive_thoughts', 'last_chunk_usage'] as const).flatMap((variant): Shape[] => {
    const gemini = {
      provider: 'prov_c' as const,
      model: 'shape-gemini',
      path: `${GEMINI_PATH}:generateContent`,
      body: CONTENTS,
      usage: { ...TEXT, toolUseTokens: 44, audioInputTokens: 70 },
      ...(variant && { variant }),
    };
    return [
      {
        ...gemini,
        name: `Gemini ${variant}, events`,
        stream: { path: `${GEMINI_PATH}:streamGenerateContent?alt=sse` },
      },
      {
        ...gemini,
        name: `Gemini ${variant}, a JSON array`,
        stream: { path: `${GEMINI_PATH}:streamGenerateContent` },
      },
    ];
  }),
  compatible('deepseek'),
  compatible('groq'),
  compatible('mistral', { inputTokens: 1_003, cachedTokens: 207, outputTokens: 501 }),
  compatible('xai'),
];

let gateway: Gateway;
let key: string;
beforeAll(async () => {
  gateway = await startGateway();
  for (const { provider, model } of SHAPES) await priceModel(gateway, provider, model);
  ({ key } = await gateway.onboard());
});
afterAll(() => gateway.stop());
afterEach(() => gateway.simulator.reset());

async function callOnce(shape: Shape, path: string, body: Shape['body'], rule: SimRule = {}) {
  gateway.simulator.reset();
  gateway.simulator.script(shape.provider, {
    usage: shape.usage,
    ...(shape.variant && { variant: shape.variant }),
    ...rule,
  });
  const isForm = body instanceof FormData;
  const response = await fetch(`${gateway.proxyUrl}/v1/proxy/${shape.provider}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'anthropic-version': '2023-06-01',
      ...(!isForm && { 'content-type': 'application/json' }),
    },
    body: isForm
      ? body
      : JSON.stringify({ ...(shape.provider !== 'prov_c' && { model: shape.model }), ...body }),
  });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  const row = await recorded(gateway, response.headers.get('x-gateway-request-id'));
  const billed = gateway.simulator.calls()[0]!.usageBilled!;
  return { row, billed };
}

test.each(SHAPES)('$name: the ledger says what the provider bills, streamed or not', async (shape) => {
  const whole = await callOnce(shape, shape.path, shape.body);
  expect(whole.row).toMatchObject({
    cost_microdollars: billOf(whole.billed),
    usage_source: 'provider',
    cost_status: 'priced',
    model_requested: shape.model,
    anomalies: [],
  });
  expect(whole.row.cost_microdollars).toBeGreaterThan(0);
  if (!shape.stream) return;
  const path = shape.stream.path ?? shape.path;
  const body = { ...(shape.body as Record<string, unknown>), ...shape.stream.body };
  for (const rule of [
    {},
    { splitEveryBytes: 7 },
    { encoding: 'gzip' as const },
    { encoding: 'br' as const },
  ]) {
    const streamed = await callOnce(shape, path, body, rule);
    expect(streamed.billed).toEqual(whole.billed);
    expect(streamed.row).toMatchObject({
      stream: true,
      cost_microdollars: whole.row.cost_microdollars,
      usage_source: 'provider',
      tokens_input: whole.row.tokens_input,
      tokens_output: whole.row.tokens_output,
    });
  }
});

test('Perplexity: tokens and the fee of the request', async () => {
  // sonar-pro of the seed: 3 and 15 USD per million tokens, 6 USD per 1,000 requests with little context.
  const shape = {
    ...compatible('perplexity', { inputTokens: 1_003, outputTokens: 501 }),
    model: 'sonar-pro',
  };
  const { row, billed } = await callOnce(shape, shape.path, shape.body);
  expect(row.cost_microdollars).toBe(billed.inputTokens * 3 + billed.outputTokens * 15 + 6_000);
  const streamed = await callOnce(shape, shape.path, { messages: MESSAGES, stream: true });
  expect(streamed.row.cost_microdollars).toBe(row.cost_microdollars);
});
