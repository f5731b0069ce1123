import type { Provider } from '../../contract/providers.ts';
import { RATE_FIELDS } from './price-json.ts';

/** The buckets that price sources state; the rest of a price is the operator's own knowledge. */
export const STATED_BUCKETS = [
  'input',
  'output',
  'cached_read',
  'cache_write_5m',
  'cache_write_1h',
  'audio_input',
] as const;
export type StatedBucket = (typeof STATED_BUCKETS)[number];

/** Per million tokens; exact decimals that may be negative, because a source may say anything. */
export type StatedRates = Partial<Record<StatedBucket, string>>;

export interface StatedLongContext {
  threshold_tokens: number;
  rates: StatedRates;
}

/** What a source says about one model that we know or look for. */
export interface StatedPrice {
  provider: Provider;
  model_id: string;
  model_family: string | null;
  context_window: number | null;
  rates: StatedRates;
  /** The rates of requests with more input than this, where the source has such. */
  long_context?: StatedLongContext;
  currency: string;
  /** The source's own words. */
  excerpt: string;
}

export type SourceReading =
  | { kind: 'read'; prices: StatedPrice[]; skipped: string[] }
  /** The source is not what it was: nothing of it is believed. */
  | { kind: 'failed'; reason: string };

/** The names we look for, by provider. */
export type WantedModels = ReadonlyMap<Provider, ReadonlySet<string>>;

const MAX_EXCERPT_CHARACTERS = 400;

export function excerptOf(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_EXCERPT_CHARACTERS ? `${line.slice(0, MAX_EXCERPT_CHARACTERS - 1)}…` : line;
}

const LONG_CONTEXT = 'long_context.';
const THRESHOLD = `${LONG_CONTEXT}threshold_tokens`;

/** By the field names of a price, those of long prompts with their path. */
export function ratesByField({ rates, long_context: long }: Pick<StatedPrice, 'rates' | 'long_context'>) {
  const fields: Record<string, string> = {};
  for (const bucket of STATED_BUCKETS) {
    const rate = rates[bucket];
    if (rate !== undefined) fields[RATE_FIELDS[bucket]] = rate;
    const longRate = long?.rates[bucket];
    if (longRate !== undefined) fields[LONG_CONTEXT + RATE_FIELDS[bucket]] = longRate;
  }
  if (long) fields[THRESHOLD] = String(long.threshold_tokens);
  return fields;
}

/** The same as parts of a price; what a source does not state of long prompts stays as it is. */
export function priceChangesOf(
  fields: Readonly<Record<string, string>>,
  old: Record<string, unknown> | null,
): Record<string, unknown> {
  const changes: Record<string, unknown> = {};
  const long: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === THRESHOLD) long.threshold_tokens = Number(value);
    else if (name.startsWith(LONG_CONTEXT)) long[name.slice(LONG_CONTEXT.length)] = value;
    else changes[name] = value;
  }
  if (Object.keys(long).length === 0) return changes;
  return { ...changes, long_context: { ...(old?.long_context as object | undefined), ...long } };
}

/** A model that a source prices twice and differently is not priced by it at all. */
export function withoutContradictions(stated: readonly StatedPrice[]): {
  prices: StatedPrice[];
  skipped: string[];
} {
  const byModel = new Map<string, StatedPrice>();
  const contradicted = new Map<string, string>();
  for (const price of stated) {
    const key = `${price.provider} ${price.model_id}`;
    const other = byModel.get(key);
    if (!other) byModel.set(key, price);
    else if (!saysTheSame(other, price)) contradicted.set(key, `${price.model_id}: priced more than once`);
  }
  const prices = [...byModel].filter(([key]) => !contradicted.has(key)).map(([, price]) => price);
  return { prices, skipped: [...contradicted.values()] };
}

function saysTheSame(a: StatedPrice, b: StatedPrice): boolean {
  return a.currency === b.currency && JSON.stringify(ratesByField(a)) === JSON.stringify(ratesByField(b));
}
