import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { Provider } from '../../src/contract/providers.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { CHAT, events, MESSAGE, onlyCall, send, sendJson, simulator } from './running.ts';

it('rules answer in the order they were scripted, each as often as it says', async () => {
  simulator.script('prov_a', { times: 1, status: 500 });
  simulator.script('prov_a', { times: 1, match: { model: 'other' }, status: 429 });
  simulator.script('prov_a', { usage: { inputTokens: 0, outputTokens: 0 }, tier: 'flex', model: 'gpt-x' });
  expect((await send('prov_a', '/v1/chat/completions', { body: CHAT })).status).toBe(500);
  const answer = await sendJson('prov_a', '/v1/chat/completions', CHAT);
  expect(answer).toMatchObject({
    model: 'gpt-x',
    service_tier: 'flex',
    usage: { prompt_tokens: 0, completion_tokens: 0 },
  });
  expect((await send('prov_a', '/v1/chat/completions', { body: { ...CHAT, model: 'other' } })).status).toBe(
    429,
  );
});

it('a request can bring its own rule in x-sim', async () => {
  const headers = { 'x-sim': JSON.stringify({ usage: { outputTokens: 77 }, text: 'so said' }) };
  const answer = JSON.parse((await send('prov_a', '/v1/chat/completions', { body: CHAT, headers })).text);
  expect(answer.choices[0].message.content).toBe('so said');
  expect(onlyCall().usageBilled?.outputTokens).toBe(77);
  const broken = await send('prov_a', '/v1/models', { headers: { 'x-sim': '{"fault":"unheard of"}' } });
  expect(broken.status).toBe(400);
});

it('a scripted usage object goes out as it stands', async () => {
  simulator.script('prov_a', { rawUsage: { prompt_tokens: -1, completion_tokens: 'many' } });
  const answer = await sendJson('prov_a', '/v1/chat/completions', CHAT);
  expect(answer.usage).toEqual({ prompt_tokens: -1, completion_tokens: 'many' });
});

it('compresses only what the client offers to read, whole and streamed', async () => {
  simulator.script('prov_b', { encoding: 'gzip', times: 3 });
  simulator.script('prov_b', { encoding: 'br' });
  const plain = await send('prov_b', '/v1/messages', { body: MESSAGE });
  expect(plain.headers['content-encoding']).toBeUndefined();
  const offer = { headers: { 'accept-encoding': 'gzip, deflate, br' } };
  const zipped = await send('prov_b', '/v1/messages', { body: MESSAGE, ...offer });
  expect(JSON.parse(gunzipSync(zipped.bytes).toString()).content).toEqual(JSON.parse(plain.text).content);
  const stream = await send('prov_b', '/v1/messages', { body: { ...MESSAGE, stream: true }, ...offer });
  expect(events(gunzipSync(stream.bytes).toString()).at(-1)?.name).toBe('message_stop');
  const brotli = await send('prov_b', '/v1/messages', { body: MESSAGE, ...offer });
  expect(brotli.headers['content-encoding']).toBe('br');
  expect(JSON.parse(brotliDecompressSync(brotli.bytes).toString()).type).toBe('message');
});

it('sends headers, trailers, early hints and bytes cut through characters', async () => {
  const text = 'ä€😀'.repeat(20);
  const informational = { link: '</a.css>; rel=preload' };
  simulator.script('prov_a', {
    text,
    splitEveryBytes: 1,
    headers: { 'set-cookie': ['a=1', 'b=2'] },
    trailers: { 'x-sum': '9' },
    informational,
  });
  const answer = await send('prov_a', '/v1/chat/completions', { body: CHAT });
  expect(JSON.parse(answer.text).choices[0].message.content).toBe(text);
  expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
  expect(answer.trailers).toEqual({ 'x-sum': '9' });
  expect(answer.hints).toEqual([103]);
  const stream = await send('prov_a', '/v1/chat/completions', { body: { ...CHAT, stream: true } });
  const said = events(stream.text).map(
    (event) => (event.data.choices as { delta: { content?: string } }[])[0]?.delta.content ?? '',
  );
  expect(said.join('')).toBe(text);
  // A lone half of a surrogate pair does not survive UTF-8.
  expect(said.map((piece) => Buffer.from(piece).toString())).toEqual(said);
});

it('delays add up and do not change the answer', async () => {
  simulator.script('prov_a', { delayMs: 20, firstByteDelayMs: 20, chunks: 2, chunkDelayMs: 10 });
  const started = performance.now();
  const answer = await send('prov_a', '/v1/chat/completions', { body: { ...CHAT, stream: true } });
  expect(performance.now() - started).toBeGreaterThan(60);
  expect(answer.text.endsWith('data: [DONE]\n\n')).toBe(true);
});

it('a required key is refused in the provider’s own words when it is wrong or missing', async () => {
  const keys = { prov_a: 'right', prov_b: 'right', prov_c: 'right', prov_d: 'right' };
  const strict = await startSimulator({ requireKey: keys });
  const status = async (provider: Provider, path: string, headers: Record<string, string>) =>
    (await fetch(strict.providerUrl(provider) + path, { headers })).status;
  const version = { 'anthropic-version': '2023-06-01' };
  expect(await status('prov_a', '/v1/models', { authorization: 'Bearer right' })).toBe(200);
  expect(await status('prov_a', '/v1/models', { authorization: 'Bearer wrong' })).toBe(401);
  expect(await status('prov_b', '/v1/models', { ...version, 'x-api-key': 'right' })).toBe(200);
  expect(await status('prov_b', '/v1/models', version)).toBe(401);
  expect(await status('prov_c', '/v1beta/models?key=right', {})).toBe(200);
  expect(await status('prov_c', '/v1beta/models', { 'x-goog-api-key': 'wrong' })).toBe(400);
  expect(await status('prov_c', '/v1beta/models', {})).toBe(403);
  expect(await status('prov_d', '/models', {})).toBe(401);
  await strict.close();
});
