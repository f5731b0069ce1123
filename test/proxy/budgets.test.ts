import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { costAtMost } from '../../src/server/domain/admission.ts';
import { SEED_MODELS } from '../../src/server/domain/seed-prices.ts';
import { tokensAtMost } from '../../src/server/domain/token-bound.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { eventually, type Gateway, makeDatabase, startGateway } from '../harness.ts';

const MODEL = 'gpt-4o-mini';
const BODY = { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };

/** What the gateway reserves for BODY, by its own rules; the simulator is told to bill just that. */
function reservation() {
  const inputTokens = tokensAtMost(Buffer.from(JSON.stringify(BODY)));
  const model = SEED_MODELS.find(({ model_id }) => model_id === MODEL)!;
  const cost = costAtMost(
    model.prices[0]!.price,
    {
      provider: 'prov_a',
      inputTokensAtMost: inputTokens,
      outputTokensAtMost: BODY.max_tokens,
      choices: 1,
      tierRequested: null,
      regionRequested: null,
      mentions: { cacheControl: false, cacheOneHour: false, audio: false, webSearch: false },
    },
    Date.now(),
  );
  return { cost, usage: { inputTokens, outputTokens: BODY.max_tokens } };
}

async function spend(nodes: Gateway[], key: string, tries: number, clients: number) {
  let sent = 0;
  const statuses: number[] = [];
  const client = async (n: number) => {
    const node = nodes[n % nodes.length]!;
    while (sent < tries) {
      sent += 1;
      const answer = await node.proxy('/prov_a/v1/chat/completions', { key, body: BODY });
      statuses.push(answer.status);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, n) => client(n)));
  return statuses;
}

describe.each([1, 3])('on %i node(s)', (count) => {
  let nodes: Gateway[];
  beforeAll(async () => {
    const simulator = await startSimulator();
    const databaseUrl = await makeDatabase();
    nodes = [];
    for (let n = 0; n < count; n += 1) nodes.push(await startGateway({ databaseUrl, simulator }));
  });
  afterAll(async () => {
    for (const node of nodes) await node.stop();
    await nodes[0]!.simulator.close();
  });

  test('a hard budget admits exactly what fits, to the microdollar, under 64 clients', async () => {
    const gateway = nodes[0]!;
    const { key, token } = await gateway.onboard();
    const { cost, usage } = reservation();
    const admitted = 200;
    gateway.simulator.reset();
    gateway.simulator.script('prov_a', { usage });
    const made = await gateway.call('POST', '/v1/budgets', {
      token,
      body: { amount_usd: (cost * admitted) / 1e6, mode: 'hard', period: 'monthly' },
    });
    expect(made.status).toBe(201);
    const statuses = await spend(nodes, key, 600, 64);
    expect(statuses.filter((status) => status === 200)).toHaveLength(admitted);
    expect(statuses.filter((status) => status === 429)).toHaveLength(600 - admitted);
    await gateway.logged(token, 600);
    await eventually(async () => {
      const { json } = await gateway.call('GET', `/v1/budgets/${made.json.id}`, { token });
      expect(json).toMatchObject({
        current_spend_microdollars: cost * admitted,
        reserved_microdollars: 0,
        utilization: 1,
      });
    });
    const { json: summary } = await gateway.call('GET', '/v1/usage/summary', { token });
    expect(summary.total_cost_microdollars).toBe(cost * admitted);
    const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token });
    expect(verified).toMatchObject({ valid: true, records_checked: admitted });
  });
});
