import { expect, it } from 'vitest';
import {
  CHAT,
  CONTENT,
  events,
  MESSAGE,
  onlyCall,
  STREAM_USAGE,
  send,
  sendJson,
  simulator,
} from './running.ts';

it('a chat stream reports usage once, in a last chunk without choices, and only if asked', async () => {
  const asked = events(
    (await send('prov_a', '/v1/chat/completions', { body: { ...CHAT, ...STREAM_USAGE } })).text,
  );
  expect(asked.slice(0, -1).every((event) => event.data.usage === null)).toBe(true);
  expect(asked.at(-1)?.data).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 3, completion_tokens: 16 },
  });
  const plain = await send('prov_a', '/v1/chat/completions', { body: { ...CHAT, stream: true } });
  expect(plain.text).not.toContain('"usage"');
  expect(plain.text).toContain('"obfuscation"');
  expect(plain.text.endsWith('data: [DONE]\n\n')).toBe(true);
});

it('cached and written tokens are inside the input of prov_a, outside it in prov_b, and thoughts outside in prov_c', async () => {
  const usage = {
    inputTokens: 10,
    cachedTokens: 20,
    cacheWrite5mTokens: 30,
    outputTokens: 40,
    reasoningTokens: 15,
  };
  for (const provider of ['prov_a', 'prov_b', 'prov_c'] as const) simulator.script(provider, { usage });
  expect((await sendJson('prov_a', '/v1/chat/completions', CHAT)).usage).toMatchObject({
    prompt_tokens: 60,
    completion_tokens: 40,
    prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 30 },
    completion_tokens_details: { reasoning_tokens: 15 },
  });
  expect((await sendJson('prov_b', '/v1/messages', MESSAGE)).usage).toMatchObject({
    input_tokens: 10,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 30,
    output_tokens: 40,
  });
  const gemini = await sendJson('prov_c', '/v1beta/models/gemini-2.5-pro:generateContent', CONTENT);
  expect(gemini.usageMetadata).toMatchObject({
    promptTokenCount: 60,
    candidatesTokenCount: 25,
    totalTokenCount: 100,
  });
});

it('a message stream starts with a placeholder output count and ends with the cumulative one', async () => {
  const list = events((await send('prov_b', '/v1/messages', { body: { ...MESSAGE, stream: true } })).text);
  expect(list[0]?.data.message).toMatchObject({ usage: { input_tokens: 3, output_tokens: 1 } });
  expect(list.map((event) => event.name)).toContain('ping');
  expect(list.at(-2)).toMatchObject({ name: 'message_delta', data: { usage: { output_tokens: 16 } } });
  expect(list.at(-1)?.name).toBe('message_stop');
});

it('a Gemini stream is framed with CRLF and counts cumulatively; without alt=sse it is one JSON array', async () => {
  const path = '/v1beta/models/gemini-2.5-pro:streamGenerateContent';
  const sse = await send('prov_c', `${path}?alt=sse`, { body: CONTENT });
  expect(sse.text.split('\r\n\r\n').length).toBe(17);
  const counts = events(sse.text).map(
    (event) => event.data.usageMetadata as { candidatesTokenCount: number },
  );
  expect(counts.map((usage) => usage.candidatesTokenCount)).toEqual(
    Array.from({ length: 16 }, (_, index) => index + 1),
  );
  const array = JSON.parse((await send('prov_c', path, { body: CONTENT })).text);
  expect(array).toEqual(
    events(sse.text).map((event) => ({ ...event.data, responseId: array[0].responseId })),
  );
});

it('a response that hits its cap is incomplete, and its stream says so too', async () => {
  simulator.script('prov_a', { billExactlyCap: true });
  const body = { model: 'gpt-5', input: 'hello', max_output_tokens: 300 };
  const whole = await sendJson('prov_a', '/v1/responses', body);
  expect(whole).toMatchObject({ status: 'incomplete', usage: { output_tokens: 300 } });
  const list = events((await send('prov_a', '/v1/responses', { body: { ...body, stream: true } })).text);
  expect(list.at(-1)).toMatchObject({
    name: 'response.incomplete',
    data: { response: { usage: { output_tokens: 300 } } },
  });
  expect(list[0]).toMatchObject({ name: 'response.created', data: { response: { usage: null } } });
});

it('each OpenAI-compatible dialect reports usage in its own place', async () => {
  const stream = async (model: string) =>
    (await send('prov_d', '/v1/chat/completions', { body: { ...CHAT, model, stream: true } })).text;
  const deepseek = await stream('deepseek-v4-flash');
  expect(deepseek.startsWith(': keep-alive\n\n')).toBe(true);
  expect(events(deepseek).at(-1)?.data.usage).toMatchObject({
    prompt_cache_hit_tokens: 0,
    prompt_cache_miss_tokens: 3,
  });
  expect(events(await stream('llama-3.1-8b-instant')).at(-1)?.data).toMatchObject({
    x_groq: { usage: { prompt_tokens: 3 } },
  });
  expect(events(await stream('mistral-small-2603')).at(-1)?.data.usage).toMatchObject({
    completion_tokens: 16,
  });
  expect(events(await stream('grok-4'))[1]?.data.usage).toMatchObject({ completion_tokens: 1 });
  expect(events(await stream('sonar')).at(-1)?.data.usage).toMatchObject({ cost: { request_cost: 0.006 } });
  const whole = await send('prov_d', '/chat/completions', {
    body: { ...CHAT, model: 'deepseek-v4-flash' },
  });
  expect(whole.text.startsWith('\n')).toBe(true);
});

it('variants report the same bill in the odd ways of other servers', async () => {
  const usage = { reasoningTokens: 6 };
  simulator.script('prov_b', { variant: 'late_usage' });
  simulator.script('prov_c', { variant: 'inclusive_thoughts', usage, times: 1 });
  simulator.script('prov_c', { variant: 'last_chunk_usage' });
  const late = events((await send('prov_b', '/v1/messages', { body: { ...MESSAGE, stream: true } })).text);
  expect(late[0]?.data.message).toMatchObject({ usage: { input_tokens: 0, output_tokens: 0 } });
  expect(late.at(-2)?.data.usage).toMatchObject({ input_tokens: 3, output_tokens: 16 });
  const inclusive = await sendJson('prov_c', '/v1beta/models/m:generateContent', CONTENT);
  const counts = { candidatesTokenCount: 16, thoughtsTokenCount: 6, totalTokenCount: 19 };
  expect(inclusive.usageMetadata).toMatchObject(counts);
  const sse = await send('prov_c', '/v1beta/models/m:streamGenerateContent?alt=sse', { body: CONTENT });
  const reported = events(sse.text).filter((event) => event.data.usageMetadata !== undefined);
  expect(reported).toHaveLength(1);
});

it('n choices are each answered and billed', async () => {
  const answer = await sendJson('prov_a', '/v1/chat/completions', { ...CHAT, n: 3, max_tokens: 5 });
  expect(answer.choices).toHaveLength(3);
  expect(onlyCall().usageBilled?.outputTokens).toBe(15);
});

it('requests the real provider refuses are refused in its own words and not billed', async () => {
  const bad = await send('prov_b', '/v1/messages', { body: { ...MESSAGE, max_tokens: -1 } });
  expect([bad.status, JSON.parse(bad.text).error.type]).toEqual([400, 'invalid_request_error']);
  const unversioned = await send('prov_b', '/v1/messages', {
    body: MESSAGE,
    headers: { 'anthropic-version': '' },
  });
  expect(unversioned.status).toBe(400);
  expect((await send('prov_a', '/v1/chat/completions', { body: { ...CHAT, n: 1e6 } })).status).toBe(400);
  expect(
    (await send('prov_a', '/v1/chat/completions', { body: { ...CHAT, max_tokens: 1e308 } })).status,
  ).toBe(400);
  expect(simulator.billed()).toEqual([]);
});
