import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';

const MESSAGES = [{ role: 'user' as const, content: 'twelve bytes' }];
const USAGE = { inputTokens: 1_000, cachedTokens: 200, outputTokens: 500 };

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_PROV_D_URL: 'http://127.0.0.1:9' } });
});
afterAll(() => gateway.stop());
afterEach(() => gateway.simulator.reset());

/** The official clients as a user sets them up, and how many requests they really send. */
function clients(key: string) {
  const sent = { count: 0 };
  const counting: typeof fetch = (input, init) => {
    sent.count += 1;
    return fetch(input, init);
  };
  const proxy = `${gateway.proxyUrl}/v1/proxy`;
  return {
    sent,
    openai: new OpenAI({ apiKey: key, baseURL: `${proxy}/prov_a/v1`, fetch: counting }),
    deepseek: new OpenAI({ apiKey: key, baseURL: `${proxy}/prov_d`, fetch: counting, maxRetries: 0 }),
    anthropic: new Anthropic({ apiKey: key, baseURL: `${proxy}/prov_b`, fetch: counting }),
    google: new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${proxy}/prov_c` } }),
  };
}

async function rows(tenant: SignedUp, count: number) {
  await gateway.logged(tenant.token, count);
  return gateway.sql(
    'select cost_microdollars, tokens_input, tokens_output, usage_source, stream, status_code from requests where tenant_id = $1 order by id',
    [tenant.tenantId],
  );
}

test('openai: chat and responses are metered alike, whole and streamed', async () => {
  const tenant = await gateway.onboard();
  const { openai, sent } = clients(tenant.key);
  gateway.simulator.script('prov_a', { usage: USAGE });
  const asked = { model: 'gpt-4o-mini', messages: MESSAGES };
  const whole = await openai.chat.completions.create(asked);
  const streamed = await openai.chat.completions
    .stream({ ...asked, stream_options: { include_usage: true } })
    .finalChatCompletion();
  expect(streamed.choices[0]!.message.content).toBe(whole.choices[0]!.message.content);
  const response = await openai.responses.create({ model: 'gpt-4o-mini', input: 'twelve bytes' });
  const finished = await openai.responses
    .stream({ model: 'gpt-4o-mini', input: 'twelve bytes' })
    .finalResponse();
  expect(finished.usage).toEqual(response.usage);
  expect(sent.count).toBe(4);
  // gpt-4o-mini: 0.15, cached 0.075, 0.60 USD per million tokens.
  const cost = 1_000 * 0.15 + 200 * 0.075 + 500 * 0.6;
  const same = { cost_microdollars: cost, tokens_input: 1_200, tokens_output: 500, usage_source: 'provider' };
  const found = await rows(tenant, 4);
  for (const row of found) expect(row).toMatchObject(same);
  expect(found.map(({ stream }) => stream)).toEqual([false, true, false, true]);
});

test('openai: a stream without stream_options carries no usage and is estimated', async () => {
  const tenant = await gateway.onboard();
  const { openai } = clients(tenant.key);
  const stream = await openai.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: MESSAGES,
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  expect(text.length).toBeGreaterThan(20);
  const [row] = await rows(tenant, 1);
  expect(row).toMatchObject({ usage_source: 'estimated', stream: true });
  expect(row!.cost_microdollars).toBeGreaterThan(0);
});

test('@anthropic-ai/sdk: messages are metered alike, whole and streamed', async () => {
  const tenant = await gateway.onboard();
  const { anthropic } = clients(tenant.key);
  gateway.simulator.script('prov_b', {
    usage: { ...USAGE, cacheWrite5mTokens: 100, cacheWrite1hTokens: 50 },
  });
  const asked = { model: 'claude-sonnet-5-5', max_tokens: 1_000, messages: MESSAGES };
  const whole = await anthropic.messages.create(asked);
  const streamed = await anthropic.messages.stream(asked).finalMessage();
  expect(streamed.content).toEqual(whole.content);
  // claude-sonnet-5-5: 2, cached 0.20, writes 2.50 and 4, output 10 USD per million tokens.
  const cost = 1_000 * 2 + 200 * 0.2 + 100 * 2.5 + 50 * 4 + 500 * 10;
  const same = { cost_microdollars: cost, tokens_input: 1_350, tokens_output: 500, usage_source: 'provider' };
  for (const row of await rows(tenant, 2)) expect(row).toMatchObject(same);
});

test('@google/genai: content is metered alike, whole and streamed', async () => {
  const tenant = await gateway.onboard();
  const { google } = clients(tenant.key);
  gateway.simulator.script('prov_c', { usage: { ...USAGE, reasoningTokens: 100 } });
  const asked = { model: 'gemini-2.5-flash', contents: 'twelve bytes' };
  const whole = await google.models.generateContent(asked);
  let text = '';
  for await (const chunk of await google.models.generateContentStream(asked)) text += chunk.text ?? '';
  expect(text).toBe(whole.text);
  expect((await google.models.countTokens(asked)).totalTokens).toBeGreaterThan(0);
  // gemini-2.5-flash: 0.30, cached 0.03, 2.50 USD per million tokens.
  const cost = 1_000 * 0.3 + 200 * 0.03 + 500 * 2.5;
  const [first, second, counted] = await rows(tenant, 3);
  for (const row of [first, second])
    expect(row).toMatchObject({ cost_microdollars: cost, tokens_input: 1_200, tokens_output: 500 });
  expect(counted).toMatchObject({ cost_microdollars: 0, tokens_input: 0 });
});

async function failureOf(call: Promise<unknown>): Promise<{ name: string; status: number; message: string }> {
  try {
    await call;
  } catch (error) {
    const { status, message } = error as { status: number; message: string };
    return { name: (error as Error).constructor.name, status, message };
  }
  throw new Error('the call was expected to fail');
}

/** The same call through each client; none may insist on what is refused for good. */
async function refusedEverywhere(
  key: string,
  status: number,
  shown: { code: string; sentence: string },
): Promise<string[]> {
  const { openai, anthropic, google, sent } = clients(key);
  const chat = { model: 'gpt-4o-mini', max_tokens: 50, messages: MESSAGES };
  const failures = [
    await failureOf(openai.chat.completions.create(chat)),
    await failureOf(anthropic.messages.create({ ...chat, model: 'claude-sonnet-5-5' })),
    await failureOf(google.models.generateContent({ model: 'gemini-2.5-flash', contents: 'x' })),
  ];
  expect(failures.map((failure) => failure.status)).toEqual([status, status, status]);
  // One client shows the code and drops the sentence, one the sentence and drops the code.
  const [openaiSays, anthropicSays, googleSays] = failures.map(({ message }) => message);
  expect(openaiSays).toBe(`${status} "${shown.code}"`);
  expect(anthropicSays).toContain(shown.sentence);
  expect(googleSays).toContain(shown.code);
  expect(googleSays).toContain(shown.sentence);
  expect(sent.count).toBe(2);
  return failures.map(({ name }) => name);
}

test('401: an unknown key is an authentication error in every client, not retried', async () => {
  expect(
    await refusedEverywhere('gw_live_nothing', 401, { code: 'invalid_token', sentence: 'key is not valid' }),
  ).toEqual(['AuthenticationError', 'AuthenticationError', 'ApiError']);
});

test('429: a budget that is used up is not retried', async () => {
  const { key, token } = await gateway.onboard();
  await gateway.call('POST', '/v1/budgets', {
    token,
    body: { amount_usd: 0.000001, mode: 'hard', period: 'monthly' },
  });
  expect(
    await refusedEverywhere(key, 429, {
      code: 'budget_exceeded',
      sentence: 'The budget for the organization',
    }),
  ).toEqual(['RateLimitError', 'RateLimitError', 'ApiError']);
  expect(gateway.simulator.calls()).toEqual([]);
});

test('451: a kill switch is not retried', async () => {
  const { key, token } = await gateway.onboard();
  await gateway.call('POST', '/v1/kill', { token, body: { scope_type: 'all' } });
  await refusedEverywhere(key, 451, { code: 'killed', sentence: 'A kill switch' });
  expect(gateway.simulator.calls()).toEqual([]);
});

test('502: a missing provider key is not retried; an upstream that cannot be reached says so', async () => {
  const { token } = await gateway.signUp();
  const { json } = await gateway.call('POST', '/v1/api-keys', { token, body: { name: 'bare' } });
  expect(
    await refusedEverywhere(json.key, 502, { code: 'provider_key_missing', sentence: 'No key is stored' }),
  ).toEqual(['InternalServerError', 'InternalServerError', 'ApiError']);
  const { deepseek } = clients((await gateway.onboard()).key);
  const failure = await failureOf(
    deepseek.chat.completions.create({ model: 'deepseek-v4-flash', messages: MESSAGES }),
  );
  expect(failure).toMatchObject({ status: 502, message: expect.stringContaining('upstream_unreachable') });
});
