import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeApiKey } from '../../src/server/domain/api-keys.ts';
import { type Gateway, makeDatabase, type SignedUp, startGateway } from '../harness.ts';
import { startToxicProxy, type ToxicProxy } from '../toxic-proxy.ts';

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
/** How long a caller may wait to hear that its key cannot be looked up. */
const ANSWER_WITHIN_MS = 5_000;

let toxic: ToxicProxy;
let gateway: Gateway;
beforeAll(async () => {
  const databaseUrl = await makeDatabase();
  const { hostname, port } = new URL(databaseUrl);
  toxic = await startToxicProxy({ host: hostname, port: Number(port) });
  gateway = await startGateway({
    databaseUrl: toxic.through(databaseUrl),
    env: { GATEWAY_LOG_LEVEL: 'fatal' },
  });
});
afterAll(async () => {
  toxic.heal();
  await gateway.stop();
  await toxic.close();
});

async function calls(tenant: SignedUp & { key: string }, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const answer = await gateway.proxy('/prov_a/v1/chat/completions', { key: tenant.key, body: CHAT });
    statuses.push(answer.status);
  }
  return statuses;
}

test.each(['cut', 'silence'] as const)(
  'while PostgreSQL is away (%s) known keys work and nothing is lost',
  async (fault) => {
    const known = await gateway.onboard();
    const unseen = await gateway.onboard();
    expect(await calls(known, 2)).toEqual([200, 200]);
    await gateway.logged(known.token, 2);

    toxic[fault]();
    expect(await calls(known, 20)).toEqual(Array(20).fill(200));
    // Nobody can say whether these are good, and a good one must not be told that it is bad.
    for (const key of [unseen.key, makeApiKey('production', Buffer.alloc(32, fault.length))]) {
      const startedMs = performance.now();
      const answer = await gateway.proxy('/prov_a/v1/models', { key, method: 'GET' });
      expect(answer).toMatchObject({ status: 503, json: { error: 'unavailable' } });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(performance.now() - startedMs).toBeLessThan(ANSWER_WITHIN_MS);
    }
    // What cannot be a key needs nobody to ask.
    const junk = await gateway.proxy('/prov_a/v1/models', { key: 'gw_live_junk', method: 'GET' });
    expect(junk.status).toBe(401);

    toxic.heal();
    await gateway.logged(known.token, 22);
    const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token: known.token });
    expect(verified).toMatchObject({ valid: true, records_checked: 22 });
    expect(await calls(unseen, 1)).toEqual([200]);
  },
);
