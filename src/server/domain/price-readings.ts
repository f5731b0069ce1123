import type { Provider } from '../../contract/providers.ts';
import { RATE_FIELDS } from './price-json.ts';

/** The buckets that price sources state; the rest of a price is the operator's own knowledge. */
export const STATED_BUCKETS = ['input', 'output', 'cached_read', 'cache_write_5m', 'cache_write_1h'] as const;
export type StatedBucket = (typeof STATED_BUCKETS)[number];

/** Per million tokens; exact decimals that may be negative, because a source may say anything. */
export type StatedRates = Partial<Record<StatedBucket, string>>;

/** What a source says about one model that we know or look for. */
export interface StatedPrice {
  provider: Provider;
  model_id: string;
  model_family: string | null;
  context_window: number | null;
  rates: StatedRates;
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

/** By the field names of a price. */
export function ratesByField(rates: StatedRates): Record<string, string> {
  return Object.fromEntries(
    STATED_BUCKETS.flatMap((bucket) => {
      const rate = rates[bucket];
      return rate === undefined ? [] : [[RATE_FIELDS[bucket], rate]];
    }),
  );
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
  return a.currency === b.currency && STATED_BUCKETS.every((bucket) => a.rates[bucket] === b.rates[bucket]);
}
