import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomOf, takeSeed } from '../faults/program.ts';
import { eventually, type Gateway } from '../harness.ts';
import { bodyThatReserves, CHAT, countOf, spend, startNodes } from './spending.ts';

const CENT = 10_000;
const CAP_CENTS = 1_000;
const TRIES = 5_000;
const CLIENTS = 64;
const FIRST_SEED = takeSeed();
const SEEDS = Array.from({ length: Number(process.env.SEEDS ?? 1) }, (_, n) => FIRST_SEED + n);

describe.each([1, 3])('on %i node(s)', (count) => {
  let nodes: Gateway[];
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ nodes, stop } = await startNodes(count));
  });
  afterAll(() => stop());

  test.each(SEEDS)(
    'a cap of $10 admits a thousand calls of a cent out of 5,000 by 64 clients, to the microdollar (seed %i)',
    async (seed) => {
      const random = randomOf(seed);
      const gateway = nodes[0]!;
      const { key, token } = await gateway.onboard();
      const { body, usage } = bodyThatReserves(CENT);
      gateway.simulator.reset();
      for (let n = 0; n < 200; n += 1)
        gateway.simulator.script('prov_a', { usage, times: 3, delayMs: random(30) });
      gateway.simulator.script('prov_a', { usage });
      const made = await gateway.call('POST', '/v1/budgets', {
        token,
        body: { amount_usd: 10, mode: 'hard', period: 'monthly' },
      });
      expect(made.status).toBe(201);
      const statuses = await spend(nodes, { key, body, tries: TRIES, clients: CLIENTS });
      expect(countOf(statuses)).toEqual({ 200: CAP_CENTS, 429: TRIES - CAP_CENTS });
      expect(gateway.simulator.calls()).toHaveLength(CAP_CENTS);
      await gateway.logged(token, TRIES);
      await eventually(async () => {
        const { json } = await gateway.call('GET', `/v1/budgets/${made.json.id}`, { token });
        expect(json).toMatchObject({
          current_spend_usd: '10.000000',
          reserved_microdollars: 0,
          utilization: 1,
        });
      });
      const { json: summary } = await gateway.call('GET', '/v1/usage/summary', { token });
      expect(summary.total_cost_microdollars).toBe(CAP_CENTS * CENT);
      const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token });
      expect(verified).toMatchObject({ valid: true, records_checked: CAP_CENTS });
    },
    240_000,
  );

  test('where a client looks before it calls instead, the same cap is passed', async () => {
    const gateway = nodes[0]!;
    const { key, token } = await gateway.onboard();
    const { body, usage } = bodyThatReserves(CENT);
    gateway.simulator.reset();
    gateway.simulator.script('prov_a', { usage, delayMs: 5 });
    const capCents = 50;
    const spentCents = async () => {
      const { json } = await gateway.call('GET', '/v1/usage/summary', { token });
      return json.total_cost_microdollars / CENT;
    };
    const client = async (n: number) => {
      for (let call = 0; call < 10 && (await spentCents()) < capCents; call += 1)
        await nodes[n % nodes.length]!.proxy(CHAT, { key, body });
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
    expect(gateway.simulator.calls().length).toBeGreaterThan(capCents);
  });
});
