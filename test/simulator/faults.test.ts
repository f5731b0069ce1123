import http from 'node:http';
import { expect, it } from 'vitest';
import {
  CHAT,
  CONTENT,
  events,
  MESSAGE,
  onlyCall,
  type Send,
  STREAM_USAGE,
  send,
  sendJson,
  simulator,
} from './running.ts';

const post = (body: object, options: Send = {}) =>
  send('prov_a', '/v1/chat/completions', { body, ...options });
const STREAM = { ...CHAT, ...STREAM_USAGE };

it.each(['reset_before_headers', 'reset_mid_body', 'half_body', 'wrong_content_length'] as const)(
  '%s breaks a whole answer',
  async (fault) => {
    simulator.script('prov_a', { fault });
    const broken = await post(CHAT).then(
      (answer) => answer.text,
      () => 'connection broken',
    );
    expect(() => JSON.parse(broken)).toThrow();
    await simulator.settled();
    const call = onlyCall();
    const isBilled = fault !== 'reset_before_headers';
    expect(call.usageBilled?.outputTokens).toBe(isBilled ? 16 : undefined);
    expect(call.endedBy).toBe(fault === 'wrong_content_length' ? 'complete' : 'fault');
  },
);

it.each(['reset_mid_body', 'half_body'] as const)(
  '%s breaks a stream, which is billed as far as it came',
  async (fault) => {
    simulator.script('prov_a', { fault, chunks: 4, faultAfterChunks: 3 });
    await expect(post(STREAM)).rejects.toThrow();
    expect(onlyCall()).toMatchObject({
      endedBy: 'fault',
      usageBilled: { inputTokens: 3, outputTokens: 8 },
    });
  },
);

it('early_end ends a stream properly without its last events', async () => {
  simulator.script('prov_a', { fault: 'early_end', chunks: 4, faultAfterChunks: 3 });
  const answer = await post(STREAM);
  expect(events(answer.text)).toHaveLength(3);
  expect(onlyCall().usageBilled?.outputTokens).toBe(8);
});

it('error_event puts the provider’s own error into a stream', async () => {
  for (const provider of ['prov_a', 'prov_b', 'prov_c', 'prov_d'] as const)
    simulator.script(provider, { fault: 'error_event' });
  const messages = await send('prov_b', '/v1/messages', { body: { ...MESSAGE, stream: true } });
  expect(events(messages.text).at(-1)).toMatchObject({
    name: 'error',
    data: { error: { type: 'overloaded_error' } },
  });
  const response = await send('prov_a', '/v1/responses', {
    body: { model: 'gpt-5', input: 'x', stream: true },
  });
  expect(events(response.text).at(-1)).toMatchObject({
    name: 'response.failed',
    data: { response: { usage: null } },
  });
  const gemini = await send('prov_c', '/v1beta/models/m:streamGenerateContent?alt=sse', { body: CONTENT });
  expect(events(gemini.text).at(-1)?.data).toMatchObject({ error: { status: 'UNAVAILABLE' } });
  const array = await send('prov_c', '/v1beta/models/m:streamGenerateContent', { body: CONTENT });
  expect(JSON.parse(array.text).at(-1)).toMatchObject({ error: { code: 503 } });
  const compatible = await send('prov_d', '/chat/completions', {
    body: { ...STREAM, model: 'deepseek-v4-flash' },
  });
  expect(compatible.text).toContain('The server is overloaded.');
});

it('garbage_sse leaves the good events in place', async () => {
  simulator.script('prov_a', { fault: 'garbage_sse' });
  const answer = await post(STREAM);
  expect(answer.text).toContain('no colon at all');
  expect(answer.text).toContain('"completion_tokens":16');
});

it('no_usage answers without usage and bills it all the same', async () => {
  simulator.script('prov_a', { fault: 'no_usage' });
  expect(await sendJson('prov_a', '/v1/chat/completions', CHAT)).not.toHaveProperty('usage');
  expect(simulator.billed()[0]?.usage.outputTokens).toBe(16);
});

it('redirect points elsewhere and bills nothing', async () => {
  simulator.script('prov_a', { fault: 'redirect', headers: { location: 'http://127.0.0.1:9/attacker' } });
  const answer = await post(CHAT);
  expect([answer.status, answer.headers.location]).toEqual([307, 'http://127.0.0.1:9/attacker']);
  expect(simulator.billed()).toEqual([]);
});

it('records an upload the client gave up', async () => {
  const request = http.request(`${simulator.providerUrl('prov_a')}/v1/files`, {
    method: 'POST',
    headers: { 'content-length': 1_000 },
  });
  request.on('error', () => {});
  await new Promise<void>((resolve) => request.write('some', () => resolve()));
  request.destroy();
  await simulator.arrived(1);
  expect(onlyCall()).toMatchObject({ endedBy: 'client_abort', status: 0, bodyBytes: 4 });
});
