import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually, type Gateway, makeDatabase, startGateway } from '../harness.ts';
import { bodyThatReserves, CHAT, countOf } from '../proxy/spending.ts';
import { startToxicProxy, type ToxicProxy } from '../toxic-proxy.ts';

const CENT = 10_000;
const CAP_CENTS = 400;
const AWAY_MS = 6_000;

let toxic: ToxicProxy;
let gateway: Gateway;
beforeAll(async () => {
  const databaseUrl = await makeDatabase();
  const { hostname: host, port } = new URL(databaseUrl);
  toxic = await startToxicProxy({ host, port: Number(port) });
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
beforeEach(() => gateway.simulator.reset());

interface Load {
  statuses: number[];
  retryAfters: Set<string | null>;
  stop(): Promise<void>;
}

function startLoad(key: string, body: unknown, clients: number): Load {
  const statuses: number[] = [];
  const retryAfters = new Set<string | null>();
  let going = true;
  const client = async () => {
    while (going) {
      const answer = await gateway.proxy(CHAT, { key, body });
      statuses.push(answer.status);
      if (answer.status === 429) retryAfters.add(answer.headers.get('retry-after'));
      // A refusal costs nothing; without a pause it would be all there is.
      if (answer.status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const running = Promise.all(Array.from({ length: clients }, client));
  const stop = async () => {
    going = false;
    await running;
  };
  return { statuses, retryAfters, stop };
}

test.each(['cut off', 'silent'] as const)(
  'with PostgreSQL %s under load, calls flow, a hard budget is kept and everything adds up after',
  async (how) => {
    const free = await gateway.onboard();
    const capped = await gateway.onboard();
    const made = await gateway.call('POST', '/v1/budgets', {
      token: capped.token,
      body: { amount_usd: (CAP_CENTS * CENT) / 1e6, mode: 'hard' },
    });
    const { body, usage } = bodyThatReserves(CENT);
    gateway.simulator.script('prov_a', { usage, delayMs: 20 });
    const loads = [startLoad(free.key, body, 4), startLoad(capped.key, body, 4)] as const;
    await eventually(async () => expect(loads[1].statuses.length).toBeGreaterThan(40));
    expect(countOf(loads[1].statuses)).toEqual({ 200: loads[1].statuses.length });

    if (how === 'cut off') toxic.cut();
    else toxic.silence();
    const before = loads.map(({ statuses }) => statuses.length);
    await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
    const [freeAway, cappedAway] = loads.map(({ statuses }, index) => statuses.slice(before[index]));
    toxic.heal();
    expect(countOf(freeAway!)).toEqual({ 200: freeAway!.length });
    expect(freeAway!.length).toBeGreaterThan(20);
    expect(
      Object.keys(countOf(cappedAway!)).filter((status) => status !== '200' && status !== '429'),
    ).toEqual([]);
    expect(countOf(cappedAway!)[429]).toBeGreaterThan(0);

    // Served again by itself, up to the cap and not beyond.
    await eventually(async () => expect(countOf(loads[1].statuses)[200]).toBe(CAP_CENTS));
    await Promise.all(loads.map((load) => load.stop()));
    expect(loads[1].retryAfters).toContain('5');
    expect(countOf(loads[1].statuses)).toEqual({ 200: CAP_CENTS, 429: loads[1].statuses.length - CAP_CENTS });
    await gateway.logged(free.token, loads[0].statuses.length);
    await gateway.logged(capped.token, loads[1].statuses.length);
    await eventually(async () => {
      const { json } = await gateway.call('GET', `/v1/budgets/${made.json.id}`, { token: capped.token });
      expect(json).toMatchObject({ current_spend_microdollars: CAP_CENTS * CENT, reserved_microdollars: 0 });
    });
    for (const { token, calls } of [
      { token: capped.token, calls: CAP_CENTS },
      { token: free.token, calls: loads[0].statuses.length },
    ]) {
      const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token });
      expect(verified).toMatchObject({ valid: true, records_checked: calls });
    }
  },
  180_000,
);
