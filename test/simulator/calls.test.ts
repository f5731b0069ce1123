import { createHash } from 'node:crypto';
import http from 'node:http';
import { expect, it } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
import { CHAT, MESSAGE, onlyCall, send, sendJson, simulator } from './running.ts';

it('keeps the target, headers and body byte for byte', async () => {
  const path = '/v1/chat/completions/..%2Fx?b=%20&a=1+2';
  await send('prov_a', path, { body: CHAT, headers: { 'X-Odd-Case': 'Yes' } });
  const call = onlyCall();
  expect(call).toMatchObject({
    provider: 'prov_a',
    rawPath: path,
    rawTarget: `/sim_a${path}`,
    status: 404,
  });
  expect(call.rawHeaders).toContain('X-Odd-Case');
  const body = JSON.stringify(CHAT);
  expect(call.body.toString()).toBe(body);
  expect(call.bodySha256).toBe(createHash('sha256').update(body).digest('hex'));
});

it('shows a request outside every base path as belonging to no provider', async () => {
  await fetch(`${simulator.url}/sim_ab/v1/models`);
  expect(onlyCall()).toMatchObject({ provider: null, rawPath: '/sim_ab/v1/models', status: 404 });
});

it('adds up what was billed by model, and free endpoints and replays add nothing', async () => {
  const first = await sendJson('prov_a', '/v1/responses', { model: 'gpt-4o', input: 'twelve bytes' });
  await sendJson('prov_a', `/v1/responses/${first.id}`);
  await send('prov_a', `/v1/responses/${first.id}?stream=true`);
  await sendJson('prov_a', '/v1/chat/completions', CHAT);
  await sendJson('prov_a', '/v1/moderations', { input: 'x' });
  await sendJson('prov_b', '/v1/messages/count_tokens', MESSAGE);
  await sendJson('prov_a', '/v1/batches/batch_1');
  expect(simulator.billed()).toMatchObject([
    {
      provider: 'prov_a',
      requestedModel: 'gpt-4o',
      servedModel: 'gpt-4o-2024-08-06',
      calls: 2,
      usage: { inputTokens: 6, outputTokens: 32 },
    },
  ]);
});

it('bills a stream the client leaves for exactly the chunks it was sent, at every chunk', async () => {
  for (let chunks = 1; chunks <= 6; chunks += 1) {
    simulator.reset();
    simulator.script('prov_a', { chunks: 4, fault: 'hang_mid_body', faultAfterChunks: chunks });
    const leaveWhen = (text: string) => text.split('\n\n').length - 1 === chunks;
    await expect(
      send('prov_a', '/v1/chat/completions', { body: { ...CHAT, stream: true }, leaveWhen }),
    ).rejects.toThrow();
    await simulator.settled();
    const call = onlyCall();
    expect(call.endedBy).toBe('client_abort');
    expect(call.usageBilled?.outputTokens).toBe(Math.min(16, (chunks - 1) * 4));
  }
});

it('a held answer goes on when released', async () => {
  simulator.script('prov_b', { fault: 'hang' });
  const answer = send('prov_b', '/v1/messages', { body: MESSAGE });
  await simulator.arrived(1);
  expect(onlyCall()).toMatchObject({ endedBy: 'open', status: 0 });
  simulator.release();
  expect((await answer).status).toBe(200);
  expect(onlyCall().endedBy).toBe('complete');
});

it('a whole answer nobody waited for is not billed, and a call that outlives a reset is not billed after it', async () => {
  simulator.script('prov_a', { fault: 'hang' });
  const request = http.request(`${simulator.providerUrl('prov_a')}/v1/chat/completions`, {
    method: 'POST',
  });
  request.on('error', () => {});
  request.end(JSON.stringify(CHAT));
  await simulator.arrived(1);
  request.destroy();
  await simulator.settled();
  expect(onlyCall()).toMatchObject({ endedBy: 'client_abort', usageBilled: null });
  simulator.reset();
  simulator.script('prov_a', { fault: 'hang' });
  const answer = send('prov_a', '/v1/chat/completions', { body: CHAT });
  await simulator.arrived(1);
  simulator.reset();
  simulator.release();
  expect((await answer).status).toBe(200);
  expect(simulator.billed()).toEqual([]);
});

it('the same seed gives the same answers, whatever the order', async () => {
  const seeded = [
    await startSimulator({ seed: 7 }),
    await startSimulator({ seed: 7 }),
    await startSimulator({ seed: 8 }),
  ];
  const bodies = Array.from({ length: 5 }, (_, index) => ({ ...CHAT, user: `user-${index}` }));
  const sizes = await Promise.all(
    seeded.map(async (one, turn) => {
      const order = turn === 1 ? [...bodies].reverse() : bodies;
      for (const body of order) {
        await fetch(`${one.providerUrl('prov_a')}/v1/chat/completions`, {
          method: 'POST',
          body: JSON.stringify(body),
        });
      }
      return one.calls().map((call) => call.usageBilled?.outputTokens);
    }),
  );
  await Promise.all(seeded.map((one) => one.close()));
  expect(sizes[0]).toEqual(sizes[1]?.reverse());
  expect(sizes[0]).not.toEqual(sizes[2]);
  expect(new Set(sizes[0]).size).toBeGreaterThan(1);
});
