import { costAtMost } from '../../src/server/domain/admission.ts';
import { SEED_MODELS } from '../../src/server/domain/seed-prices.ts';
import { tokensAtMost } from '../../src/server/domain/token-bound.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { type Gateway, makeDatabase, startGateway } from '../harness.ts';

const MODEL = 'gpt-4o';
export const CHAT = '/prov_a/v1/chat/completions';

/** What the gateway reserves for a chat body, by its own rules. */
export function reservationOf(body: { model: string; max_tokens: number }) {
  const inputTokens = tokensAtMost(Buffer.from(JSON.stringify(body)));
  const model = SEED_MODELS.find(({ model_id }) => model_id === body.model)!;
  const cost = costAtMost(
    model.prices[0]!.price,
    {
      provider: 'prov_a',
      inputTokensAtMost: inputTokens,
      outputTokensAtMost: body.max_tokens,
      choices: 1,
      tierRequested: null,
      regionRequested: null,
      mentions: { cacheControl: false, cacheOneHour: false, audio: false, webSearch: false },
    },
    Date.now(),
  );
  return { cost, usage: { inputTokens, outputTokens: body.max_tokens } };
}

/** A body for which exactly this much is reserved, and the usage with which exactly that is billed. */
export function bodyThatReserves(microdollars: number) {
  const bodyOf = (maxTokens: number, filling: number) => ({
    model: MODEL,
    max_tokens: maxTokens,
    messages: [{ role: 'user', content: 'hi '.repeat(filling) }],
  });
  for (let filling = 1; filling < 200; filling += 1) {
    const { cost } = reservationOf(bodyOf(100, filling));
    // An output token of this model costs ten microdollars.
    const body = bodyOf(100 + Math.floor((microdollars - cost) / 10), filling);
    if (body.max_tokens < 1) break;
    const reserved = reservationOf(body);
    if (reserved.cost === microdollars) return { body, ...reserved };
  }
  throw new Error(`no body reserves exactly ${microdollars}`);
}

/** Several nodes on one database, with one simulator of the providers. */
export async function startNodes(count: number): Promise<{ nodes: Gateway[]; stop(): Promise<void> }> {
  const simulator = await startSimulator();
  const databaseUrl = await makeDatabase();
  const nodes: Gateway[] = [];
  for (let n = 0; n < count; n += 1) nodes.push(await startGateway({ databaseUrl, simulator }));
  const stop = async () => {
    for (const node of nodes) await node.stop();
    await simulator.close();
  };
  return { nodes, stop };
}

/** So many calls by so many clients, spread over the nodes; the statuses in the order they came. */
export async function spend(
  nodes: readonly Gateway[],
  options: { key: string; body: unknown; tries: number; clients: number; headers?: Record<string, string> },
): Promise<number[]> {
  let sent = 0;
  const statuses: number[] = [];
  const client = async (n: number) => {
    const node = nodes[n % nodes.length]!;
    while (sent < options.tries) {
      sent += 1;
      const { status } = await node.proxy(CHAT, options);
      statuses.push(status);
    }
  };
  await Promise.all(Array.from({ length: options.clients }, (_, n) => client(n)));
  return statuses;
}

export function countOf(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
