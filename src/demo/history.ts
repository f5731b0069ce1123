import type { PromptFingerprints } from '../server/domain/fingerprint.ts';
import { emptyUsage, type Usage } from '../server/domain/usage.ts';
import type { Chance } from './chance.ts';
import { LEGACY_IMPORTER, NIGHTLY_EVALS, RESEARCH_CRAWLER, type Workload } from './company.ts';
import type { ModelOf } from './exchange.ts';
import { busyHours } from './rhythm.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const HISTORY_DAYS = 30;

/** The moving alias was switched over by its provider so long ago. */
const ALIAS_SWITCHED_DAYS_AGO = 6;
const ALIAS = 'gemini-flash-latest';
const ALIAS_BEFORE = 'gemini-2.5-flash';
/** An agent that went round in circles, once with nobody looking and once just now. */
const RUNAWAY_DAYS_AGO = 9;
const RUNAWAY_CALLS = { earlier: 75, latest: 110 };
export const KILLED_DAYS_AGO = 12;
export const KILLED_FOR_MS = 47 * MINUTE_MS;
const KILLED_CALLS = 18;
/** Long enough ago to be out of the way of what happens now. */
const LATEST_MS = 20 * SECOND_MS;
const LONG_BEGINNING_TOKENS = 4_096;
const SHORT_BEGINNING_TOKENS = 1_024;

export type Ending =
  | { kind: 'answered'; status: number; clientLeft: boolean }
  | { kind: 'refused'; status: number; cause: string };

/** One call of the past, as it would have come to the proxy and back. */
export interface PastCall {
  atMs: number;
  workload: Workload;
  model: ModelOf;
  served: string;
  stream: boolean;
  user: string | null;
  customer: string | null;
  ending: Ending;
  usage: Usage;
  latencyTotalMs: number;
  latencyFirstByteMs: number;
  fingerprints: PromptFingerprints;
}

export interface HistoryPlan {
  nowMs: number;
  /** Where its thirty days end, when that is not now. */
  endMs?: number;
  requests: number;
  workloads: readonly Workload[];
  /** Only the tenant of the tour has had its adventures. */
  eventful: boolean;
}

/** Thirty days of a company's calls, oldest first; the same for the same chance. */
export function planHistory(plan: HistoryPlan, chance: Chance): PastCall[] {
  const total = plan.workloads.reduce((sum, { share }) => sum + share, 0);
  const calls = plan.workloads.flatMap((workload) =>
    planWorkload(workload, Math.ceil((plan.requests * workload.share) / total), plan, chance),
  );
  if (plan.eventful) calls.push(...planAdventures(plan.nowMs, chance));
  return calls.filter(({ atMs }) => atMs < plan.nowMs - LATEST_MS).sort((a, b) => a.atMs - b.atMs);
}

export function runawayHours(nowMs: number): { earlier: number; latest: number } {
  const thisHour = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  return { earlier: thisHour - RUNAWAY_DAYS_AGO * DAY_MS, latest: thisHour - HOUR_MS };
}

function planWorkload(
  workload: Workload,
  count: number,
  { nowMs, endMs = nowMs }: HistoryPlan,
  chance: Chance,
): PastCall[] {
  const hours = busyHours(workload.rhythm, endMs - HISTORY_DAYS * DAY_MS, endMs);
  const calls: PastCall[] = [];
  while (calls.length < count) {
    const hour = chance.weighted(hours);
    const atMs = hour.startMs + Math.floor(chance.next() * (hour.endMs - hour.startMs));
    calls.push(...planSitting(workload, atMs, chance.between(1, 2 * workload.sitting - 1), nowMs, chance));
  }
  return calls.slice(0, count);
}

/** What belongs together: the same person, the same customer, the same beginning, seconds apart. */
function planSitting(
  workload: Workload,
  startMs: number,
  count: number,
  nowMs: number,
  chance: Chance,
): PastCall[] {
  const user = workload.users.length > 0 ? chance.pick(workload.users) : null;
  const customer = workload.customers.length > 0 ? chance.pick(workload.customers) : null;
  const model = chance.weighted(workload.models);
  const beginning = { short: chance.hex(16), long: chance.hex(16) };
  const calls: PastCall[] = [];
  let atMs = startMs;
  for (let index = 0; index < count; index += 1) {
    const before = calls.at(-1);
    const repeats = before !== undefined && chance.happens(workload.repeats);
    const usage = repeats ? before.usage : usageOf(workload, model, chance);
    const fresh = { ...beginning, prompt: chance.hex(16) };
    calls.push({
      atMs,
      workload,
      model,
      served: servedAt(model, atMs, nowMs),
      stream: !model.embeds && chance.happens(workload.streams),
      user,
      customer,
      ending: endingOf(workload, model, chance),
      usage,
      ...latencyOf(usage, chance),
      fingerprints: repeats ? before.fingerprints : fingerprintsOf(workload, usage, fresh),
    });
    atMs += chance.between(4, 40) * SECOND_MS;
  }
  return calls;
}

function servedAt({ model, served }: ModelOf, atMs: number, nowMs: number): string {
  if (model === ALIAS && atMs < nowMs - ALIAS_SWITCHED_DAYS_AGO * DAY_MS) return ALIAS_BEFORE;
  return served ?? model;
}

function usageOf(workload: Workload, model: ModelOf, chance: Chance): Usage {
  const usage = emptyUsage();
  const input = chance.around(workload.input.median, workload.input.spread);
  if (model.embeds) return { ...usage, input };
  const cached = chance.happens(workload.cacheHits) ? Math.floor(input * workload.cachedShare) : 0;
  // Anthropic keeps what it is told to keep, and charges for writing it down.
  const written = model.provider === 'prov_b' && workload.cachedShare > 0 && cached === 0;
  const output = chance.around(workload.output.median, workload.output.spread);
  const reasoning = Math.floor(output * workload.reasoningShare);
  const toCache = written ? Math.floor(input * workload.cachedShare) : 0;
  return {
    ...usage,
    input: input - cached - toCache,
    cached_read: cached,
    cache_write_5m: toCache,
    output: output - reasoning,
    reasoning,
  };
}

function latencyOf(usage: Usage, chance: Chance) {
  const first = chance.around(320, 0.4) + Math.round((usage.input + usage.cached_read) / 40);
  const rest = Math.round((usage.output + usage.reasoning) * (6 + chance.next() * 8));
  return { latencyFirstByteMs: first, latencyTotalMs: first + rest };
}

const ERRORS = [
  { share: 8, status: 429 },
  { share: 5, status: 500 },
  { share: 4, status: 503 },
  { share: 3, status: 400 },
];
const ERROR_RATE = 0.016;
const CLIENT_LEFT_RATE = 0.008;
const BUDGET_REFUSAL_RATE = 0.03;

function endingOf(workload: Workload, model: ModelOf, chance: Chance): Ending {
  if (workload === NIGHTLY_EVALS && chance.happens(BUDGET_REFUSAL_RATE))
    return { kind: 'refused', status: 429, cause: 'budget_exceeded' };
  if (chance.happens(ERROR_RATE)) {
    const { status } = chance.weighted(ERRORS);
    const overloaded = model.provider === 'prov_b' && status === 503;
    return { kind: 'answered', status: overloaded ? 529 : status, clientLeft: false };
  }
  return { kind: 'answered', status: 200, clientLeft: chance.happens(CLIENT_LEFT_RATE) };
}

function fingerprintsOf(
  workload: Workload,
  usage: Usage,
  fresh: { prompt: string; short: string; long: string },
): PromptFingerprints {
  const tokens = usage.input + usage.cached_read + usage.cache_write_5m;
  const begins = workload.fixedBeginning || workload.cachedShare > 0;
  return {
    prompt_fingerprint: fresh.prompt,
    prefix_fingerprint: begins && tokens >= SHORT_BEGINNING_TOKENS ? fresh.short : null,
    long_prefix_fingerprint: begins && tokens >= LONG_BEGINNING_TOKENS ? fresh.long : null,
  };
}

function planAdventures(nowMs: number, chance: Chance): PastCall[] {
  const { earlier, latest } = runawayHours(nowMs);
  const spread = (startMs: number, spanMs: number, count: number, workload: Workload) =>
    Array.from({ length: count }, () =>
      planSitting(workload, startMs + Math.floor(chance.next() * spanMs), 1, nowMs, chance),
    ).flat();
  const killedAtMs = nowMs - KILLED_DAYS_AGO * DAY_MS;
  const killed = [
    ...spread(killedAtMs, KILLED_FOR_MS, KILLED_CALLS, RESEARCH_CRAWLER),
    ...spread(nowMs - 3 * HOUR_MS, 3 * HOUR_MS, 4, LEGACY_IMPORTER),
  ];
  return [
    ...spread(earlier, HOUR_MS, RUNAWAY_CALLS.earlier, RESEARCH_CRAWLER),
    ...spread(latest, HOUR_MS, RUNAWAY_CALLS.latest, RESEARCH_CRAWLER),
    ...killed.map((call) => ({
      ...call,
      ending: { kind: 'refused' as const, status: 451, cause: 'killed' },
      latencyTotalMs: 1,
    })),
  ];
}
