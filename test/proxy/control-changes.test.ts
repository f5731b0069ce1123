import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
import { type Gateway, makeDatabase, type SignedUp, startGateway } from '../harness.ts';
import { startToxicProxy, type ToxicProxy } from '../toxic-proxy.ts';

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] };
/** The promise: a change is in force on every node within this. */
const WITHIN_MS = 1_000;
const LOOK_EVERY_MS = 20;
const GIVEN_UP_AFTER_MS = 60_000;
/** A machine busy with other things may need another try; a design that takes longer fails every one. */
const BUSY_MACHINE = { retry: 1 };

let toxic: ToxicProxy;
let here: Gateway;
let there: Gateway;
beforeAll(async () => {
  const databaseUrl = await makeDatabase();
  const simulator = await startSimulator();
  const { hostname, port } = new URL(databaseUrl);
  toxic = await startToxicProxy({ host: hostname, port: Number(port) });
  here = await startGateway({ databaseUrl, simulator });
  there = await startGateway({ databaseUrl: toxic.through(databaseUrl), simulator });
});
afterAll(async () => {
  await here.stop();
  await there.stop();
  await here.simulator.close();
  await toxic.close();
});

const statusOn = async (node: Gateway, key: string) =>
  (await node.proxy('/prov_a/v1/chat/completions', { key, body: CHAT })).status;

async function msUntil(status: number, key: string): Promise<number> {
  const startedMs = performance.now();
  while ((await statusOn(there, key)) !== status) {
    if (performance.now() - startedMs > GIVEN_UP_AFTER_MS) throw new Error(`never ${status}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return performance.now() - startedMs;
}

interface Change {
  name: string;
  make: (tenant: SignedUp & { keyId: string }) => Promise<unknown>;
  status: number;
}
const CHANGES: Change[] = [
  {
    name: 'a revoked key',
    make: ({ token, keyId }) => here.call('DELETE', `/v1/api-keys/${keyId}`, { token }),
    status: 401,
  },
  {
    name: 'a kill switch',
    make: ({ token }) => here.call('POST', '/v1/kill', { token, body: { scope_type: 'all' } }),
    status: 451,
  },
  {
    name: 'a budget',
    make: ({ token }) =>
      here.call('POST', '/v1/budgets', {
        token,
        body: { amount_usd: 0.000001, mode: 'hard', period: 'monthly' },
      }),
    status: 429,
  },
];

test.each(CHANGES)(
  '$name holds at once where it was made and within a second elsewhere',
  BUSY_MACHINE,
  async ({ make, status }) => {
    const tenant = await here.onboard();
    expect([await statusOn(here, tenant.key), await statusOn(there, tenant.key)]).toEqual([200, 200]);
    await make(tenant);
    expect(await statusOn(here, tenant.key)).toBe(status);
    expect(await msUntil(status, tenant.key)).toBeLessThan(WITHIN_MS);
  },
);

test.each(CHANGES)(
  '$name does so when the other node’s listening connection has died without a word',
  BUSY_MACHINE,
  async ({ make, status }) => {
    const tenant = await here.onboard();
    expect(await statusOn(there, tenant.key)).toBe(200);
    expect(toxic.silenceOnly('gateway-control')).toBe(1);
    await make(tenant);
    expect(await msUntil(status, tenant.key)).toBeLessThan(WITHIN_MS);
  },
);

test('a change still arrives while PostgreSQL takes most of a second to answer', async () => {
  const tenant = await here.onboard();
  expect(await statusOn(there, tenant.key)).toBe(200);
  toxic.slow(200);
  await here.call('POST', '/v1/kill', { token: tenant.token, body: { scope_type: 'all' } });
  await msUntil(451, tenant.key);
  toxic.heal();
});
