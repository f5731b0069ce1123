import { setTimeout as sleep } from 'node:timers/promises';
import type { SimRule, SimUsage } from '../simulator/index.ts';
import type { Chance } from './chance.ts';
import { CAMPAIGN_COPY, CODE_REVIEW, type Workload } from './company.ts';
import { exchangeOf } from './exchange.ts';
import type { DemoKeys } from './state.ts';

const MAX_IN_FLIGHT = 16;
/** Live calls are small, so that an hour of them does not outweigh the month before. */
const LIVE_SIZE = 0.06;
const MAX_TOKENS = 1_500;
const ERROR_RATE = 0.03;
const REPEAT_RATE = 0.05;
/** A demo that nobody looks at any more goes on, but slowly. */
const LIVELY_MS = 15 * 60_000;
const SLOWED_DOWN = 6;
/** How long calls under way may take to end by themselves at the stop. */
const STOP_PATIENCE_MS = 3_000;
const LOOK_MS = 25;

const INSTRUCTIONS: Record<string, string> = {
  'support-chat': 'You help customers of a robot maker. Be brief, friendly and exact.',
  'ticket-triage': 'Sort the ticket into one of: billing, repair, delivery, other.',
  'product-search': 'Rewrite the shopper’s words into a search query.',
  'doc-summaries': 'Summarize the document for a busy analyst.',
  'market-research': 'You crawl and compare competitors’ offers, step by step.',
  'code-review': 'Review the change. Say only what matters.',
  'campaign-copy': 'Write a short text for our autumn campaign.',
};
const QUESTIONS = [
  'Where is my order, and can it still be sent to another address?',
  'The left gripper of unit 7 does not close any more since the update.',
  'We would like to have twelve more units by the end of the quarter.',
  'Compare the two offers attached and say which one is better for us.',
  'Is there a spare battery that fits the older series?',
  'The invoice shows two licenses, but we have only ever had one.',
];

export interface TrafficParts {
  proxyUrl: string;
  keys: DemoKeys;
  workloads: readonly Workload[];
  callsPerSecond: number;
  chance: Chance;
}

export interface Traffic {
  stop(): Promise<void>;
}

/** Lets calls flow through the proxy, as clients make them, until stopped. */
export function startTraffic(parts: TrafficParts): Traffic {
  const stopping = new AbortController();
  const cutting = new AbortController();
  const inFlight = new Set<Promise<void>>();
  const workloads = parts.workloads.map((workload) => ({ workload, share: workload.liveShare }));
  const startedAtMs = performance.now();
  const run = async () => {
    while (!stopping.signal.aborted && parts.callsPerSecond > 0) {
      const slow = performance.now() - startedAtMs > LIVELY_MS ? SLOWED_DOWN : 1;
      const pauseMs = (-Math.log(1 - parts.chance.next()) * 1_000 * slow) / parts.callsPerSecond;
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted || inFlight.size >= MAX_IN_FLIGHT) continue;
      const { workload } = parts.chance.weighted(workloads);
      const call = makeCall(parts, workload, cutting.signal).then(
        () => undefined,
        // The server is stopping, or somebody revoked the key: the demo goes on all the same.
        () => undefined,
      );
      inFlight.add(call);
      void call.finally(() => inFlight.delete(call));
    }
  };
  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
      const endMs = performance.now() + STOP_PATIENCE_MS;
      while (inFlight.size > 0 && performance.now() < endMs) await sleep(LOOK_MS);
      cutting.abort();
      await Promise.all(inFlight);
    },
  };
}

/** The answer's status. */
async function makeCall(
  { proxyUrl, keys, chance }: TrafficParts,
  workload: Workload,
  signal: AbortSignal,
): Promise<number> {
  const model = chance.weighted(workload.models);
  const stream = !model.embeds && chance.happens(workload.streams);
  const number = chance.happens(REPEAT_RATE) ? 1 : chance.between(1, 1_000_000);
  const exchange = exchangeOf(model, {
    stream,
    instructions: INSTRUCTIONS[workload.service] ?? 'Answer the question.',
    text: `${chance.pick(QUESTIONS)} (case ${number})`,
    maxTokens: MAX_TOKENS,
  });
  const response = await fetch(`${proxyUrl}/v1/proxy/${model.provider}${exchange.path}`, {
    method: 'POST',
    headers: {
      ...exchange.headers,
      ...attributionOf(workload, chance),
      authorization: `Bearer ${workload.environment === 'test' ? keys.test : keys.production}`,
      'x-sim': JSON.stringify(ruleOf(workload, model.embeds === true, chance)),
    },
    body: JSON.stringify(exchange.body),
    signal,
  });
  await response.arrayBuffer();
  return response.status;
}

function attributionOf(workload: Workload, chance: Chance): Record<string, string> {
  const { users, customers, agent, tags } = workload;
  return {
    'x-gateway-team': workload.team,
    'x-gateway-service': workload.service,
    ...(users.length > 0 && { 'x-gateway-user': chance.pick(users) }),
    ...(customers.length > 0 && { 'x-gateway-end-customer': chance.pick(customers) }),
    ...(agent !== null && { 'x-gateway-agent': agent }),
    ...(Object.keys(tags).length > 0 && {
      'x-gateway-tags': Object.entries(tags)
        .map(([name, value]) => `${name}=${value}`)
        .join(','),
    }),
  };
}

/** What the simulated provider is to do with the call. */
function ruleOf(workload: Workload, embeds: boolean, chance: Chance): SimRule {
  if (chance.happens(ERROR_RATE)) return { status: chance.pick([429, 500, 503]), delayMs: 80 };
  const size = (median: number, spread: number) => chance.around(Math.max(20, median * LIVE_SIZE), spread);
  const input = size(workload.input.median, workload.input.spread);
  const cached = chance.happens(workload.cacheHits) ? Math.floor(input * workload.cachedShare) : 0;
  const output = Math.min(MAX_TOKENS, size(workload.output.median, workload.output.spread));
  const usage: Partial<SimUsage> = embeds
    ? { inputTokens: input }
    : {
        inputTokens: input - cached,
        cachedTokens: cached,
        outputTokens: output,
        reasoningTokens: Math.floor(output * workload.reasoningShare),
      };
  return { usage, delayMs: chance.around(180, 0.4), chunks: 8, chunkDelayMs: chance.between(10, 60) };
}

/** Calls once on behalf of whoever has nothing left of a budget, so that somebody has to approve more. */
export async function askPastTheBudget(parts: TrafficParts): Promise<void> {
  for (const workload of [CODE_REVIEW, CAMPAIGN_COPY]) {
    for (let attempt = 0; attempt < MAX_IN_FLIGHT; attempt += 1) {
      if ((await makeCall(parts, workload, new AbortController().signal)) === 429) break;
    }
  }
}
