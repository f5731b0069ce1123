import { formatUsd } from '../../contract/money.ts';
import { CHANGE_WINDOW_DAYS } from '../../contract/price-changes.ts';
import type { Provider } from '../../contract/providers.ts';
import { findPrice, type PriceBook } from './price-book.ts';
import { RATE_FIELDS } from './price-json.ts';
import type { Price } from './pricing.ts';

/** What the rollups hold of a model's traffic: `tokens_input` is all input, the cached part included. */
export interface RolledUpTokens {
  tokens_input: number;
  tokens_cached: number;
  tokens_output: number;
}

/** A tenant's traffic of one model over the window, under the name of the model that answered. */
export interface ModelUsage extends RolledUpTokens {
  provider: Provider;
  model_id: string;
  cost_microdollars: number;
}

/** One part of a price that is not as it was; null is a part that the price does not state. */
export interface PriceDifference {
  field: string;
  old: unknown;
  new: unknown;
}

const PICODOLLARS_PER_MICRODOLLAR = 1_000_000n;

/**
 * What the figure takes for granted, said wherever it is shown: rollups know three kinds of tokens, not the
 * eleven a request is charged by.
 */
const ESTIMATE_ASSUMPTIONS: readonly string[] = [
  'the next month is like the last 30 days',
  'usage is counted under the model that answered; calls billed under another name are not separated',
  'all input that was not read from a cache is charged as plain input, cache writes, audio and images included',
  'all output is charged as plain output',
  'standard tier and region, below any long-context threshold, outside peak hours, without per-call fees',
];

/** A month's tokens times the difference of the rates, exact until it is rounded once. May be negative. */
export function estimateMonthlyEffect(old: Price, next: Price, tokens: RolledUpTokens): number {
  const cached = Math.min(tokens.tokens_cached, tokens.tokens_input);
  const cachedRate = ({ rates }: Price) => rates.cached_read ?? rates.input;
  const picodollars =
    BigInt(tokens.tokens_input - cached) * (next.rates.input - old.rates.input) +
    BigInt(cached) * (cachedRate(next) - cachedRate(old)) +
    BigInt(tokens.tokens_output) * (next.rates.output - old.rates.output);
  const magnitude = picodollars < 0n ? -picodollars : picodollars;
  const rounded = (magnitude * 2n + PICODOLLARS_PER_MICRODOLLAR) / (PICODOLLARS_PER_MICRODOLLAR * 2n);
  return Number(picodollars < 0n ? -rounded : rounded);
}

/**
 * What a tenant used of a model, dated names that are billed under it included; null when it used none. The
 * rule is the meter's own, so that whoever pays the old rate hears of the new one.
 */
export function usageBilledUnder(
  book: PriceBook,
  model: { provider: Provider; model_id: string },
  used: readonly ModelUsage[],
  atMs: number,
): ModelUsage | null {
  const total = { ...model, tokens_input: 0, tokens_cached: 0, tokens_output: 0, cost_microdollars: 0 };
  let found = false;
  for (const row of used) {
    if (row.provider !== model.provider) continue;
    if (findPrice(book, row.provider, row.model_id, null, atMs)?.billedModelId !== model.model_id) continue;
    found = true;
    total.tokens_input += row.tokens_input;
    total.tokens_cached += row.tokens_cached;
    total.tokens_output += row.tokens_output;
    total.cost_microdollars += row.cost_microdollars;
  }
  return found ? total : null;
}

/** The estimate as the API and the alerts show it, with all it was made from. */
export function describeEstimate(old: Price, next: Price, used: ModelUsage) {
  const effect = estimateMonthlyEffect(old, next, used);
  return {
    window_days: CHANGE_WINDOW_DAYS,
    tokens_input: used.tokens_input,
    tokens_cached: used.tokens_cached,
    tokens_output: used.tokens_output,
    spend_microdollars: used.cost_microdollars,
    spend_usd: formatUsd(used.cost_microdollars),
    monthly_effect_microdollars: effect,
    monthly_effect_usd: formatUsd(effect),
    assumptions: [...ESTIMATE_ASSUMPTIONS],
  };
}

/** Field by field over two stored prices, nested parts by their path. */
export function comparePrices(
  old: Record<string, unknown> | null,
  next: Record<string, unknown>,
): PriceDifference[] {
  const before = flatten(old ?? {});
  const after = flatten(next);
  const fields = [...new Set([...before.keys(), ...after.keys()])];
  return fields
    .map((field) => ({ field, old: before.get(field) ?? null, new: after.get(field) ?? null }))
    .filter((row) => row.old !== row.new);
}

function flatten(value: Record<string, unknown>, path = ''): Map<string, unknown> {
  const flat = new Map<string, unknown>();
  for (const [name, part] of Object.entries(value)) {
    const field = path === '' ? name : `${path}.${name}`;
    if (typeof part === 'object' && part !== null && !Array.isArray(part)) {
      for (const [inner, leaf] of flatten(part as Record<string, unknown>, field)) flat.set(inner, leaf);
    } else {
      flat.set(field, Array.isArray(part) ? JSON.stringify(part) : part);
    }
  }
  return flat;
}

const SPOKEN_FIELDS: readonly [field: string, name: string][] = [
  [RATE_FIELDS.input, 'input'],
  [RATE_FIELDS.output, 'output'],
  [RATE_FIELDS.cached_read, 'cached input'],
];

const MICRODOLLARS_PER_CENT = 10_000;

/** One line for people: `gpt-5: input $1.25 → $1.50 from 2026-12-01, about +$12.34 a month at your volume`. */
export function describePriceChange(change: {
  modelId: string;
  differences: readonly PriceDifference[];
  effectiveAt: Date;
  monthlyEffectMicrodollars: number;
}): string {
  const spoken = SPOKEN_FIELDS.flatMap(([field, name]) => {
    const difference = change.differences.find((row) => row.field === field);
    return difference ? [`${name} ${dollars(difference.old)} → ${dollars(difference.new)}`] : [];
  });
  const what = spoken.length > 0 ? spoken.join(', ') : 'special rates changed';
  const day = change.effectiveAt.toISOString().slice(0, 10);
  return `${change.modelId}: ${what} per million tokens from ${day}, ${aboutMonthly(change.monthlyEffectMicrodollars)}`;
}

function dollars(amount: unknown): string {
  return amount === null ? 'not stated' : `$${amount}`;
}

function aboutMonthly(microdollars: number): string {
  if (microdollars === 0) return 'no change at your volume';
  if (Math.abs(microdollars) < MICRODOLLARS_PER_CENT) {
    return `less than a cent ${microdollars < 0 ? 'saved' : 'more'} a month at your volume`;
  }
  const cents = formatUsd(
    Math.abs(Math.round(microdollars / MICRODOLLARS_PER_CENT) * MICRODOLLARS_PER_CENT),
  ).slice(0, -4);
  return `about ${microdollars < 0 ? '−' : '+'}$${cents} a month at your volume`;
}
