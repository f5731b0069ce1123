import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
import { type Gateway, makeDatabase, startGateway } from '../harness.ts';
import { bodyThatReserves, CHAT, countOf, spend } from '../proxy/spending.ts';
import { makeDirectory, removeDirectories } from './carrying.ts';
import { type Program, send, startProgram } from './program.ts';

const CENT = 10_000;
const CAP_CENTS = 300;
const IN_FLIGHT = 64;
/** The lease's thirty seconds and thirty more. */
const USABLE_AGAIN_MS = 60_000;

let nodes: Gateway[];
let victim: Program;
beforeAll(async () => {
  const simulator = await startSimulator();
  const databaseUrl = await makeDatabase();
  nodes = [];
  for (let n = 0; n < 2; n += 1) nodes.push(await startGateway({ databaseUrl, simulator }));
  victim = await startProgram(nodes[0]!, makeDirectory());
});
afterAll(async () => {
  await victim.kill();
  for (const node of nodes) await node.stop();
  await nodes[0]!.simulator.close();
  removeDirectories();
});

test('one of three nodes killed with 64 calls in flight holds the budget up for no longer than its lease, and the cap holds', async () => {
  const gateway = nodes[0]!;
  const { key, token } = await gateway.onboard();
  const made = await gateway.call('POST', '/v1/budgets', {
    token,
    body: { amount_usd: (CAP_CENTS * CENT) / 1e6, mode: 'hard' },
  });
  const { body, usage } = bodyThatReserves(CENT);
  gateway.simulator.script('prov_a', { usage, fault: 'hang', times: IN_FLIGHT });
  gateway.simulator.script('prov_a', { usage });
  const lost = Array.from({ length: IN_FLIGHT }, () =>
    send(`${victim.proxyUrl}/v1/proxy${CHAT}`, { key, body }),
  );
  await gateway.simulator.arrived(IN_FLIGHT);
  await victim.kill();
  const killedAtMs = performance.now();
  expect((await Promise.all(lost)).filter(({ complete }) => complete)).toEqual([]);

  const statuses: number[] = [];
  const admitted = () => countOf(statuses)[200] ?? 0;
  while (admitted() < CAP_CENTS) {
    expect(performance.now() - killedAtMs).toBeLessThan(USABLE_AGAIN_MS);
    statuses.push(...(await spend(nodes, { key, body, tries: 60, clients: 16 })));
    if (admitted() < CAP_CENTS) await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  console.info(`usable again ${Math.round((performance.now() - killedAtMs) / 1000)} s after the kill`);
  statuses.push(...(await spend(nodes, { key, body, tries: 40, clients: 16 })));
  expect(admitted()).toBe(CAP_CENTS);
  await gateway.logged(token, statuses.length);
  const { json } = await gateway.call('GET', `/v1/budgets/${made.json.id}`, { token });
  expect(json).toMatchObject({ current_spend_microdollars: CAP_CENTS * CENT });
}, 180_000);
