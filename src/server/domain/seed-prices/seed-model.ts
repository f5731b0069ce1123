import type { Provider } from '../../../contract/providers.ts';
import { parseDecimal } from '../decimal.ts';
import type { Price, PriceRates, Tier } from '../pricing.ts';
import type { TokenBucket } from '../usage.ts';

/** A model the gateway knows from its first start, with every price it has or is known to get. */
export interface SeedModel {
  provider: Provider;
  model_id: string;
  model_family: string;
  /** Null when the provider's figure is not confirmed. */
  context_window: number | null;
  /** Deprecated: retired, or a legacy name; still priced, because requests still name it. */
  status: 'active' | 'deprecated';
  /** Where the figures were read; most come from a third party's table, not from the vendor. */
  source: string;
  /** When the source showed them, no finer than is known: a day, a month or a year. */
  as_of: string;
  prices: { effective_from: number; price: Price }[];
}

/**
 * Base prices start before any request this gateway can see, so that no request is unpriced merely because
 * its clock was wrong or its record was imported.
 */
export const SEED_EPOCH_MS = Date.UTC(2025, 0, 1);

export type RateTexts = { input: string; output: string } & Partial<Record<TokenBucket, string>>;

/** USD per million tokens → picodollars per token. */
export function ratesOf(texts: RateTexts): PriceRates {
  const { input, output, ...others } = texts;
  const rates: PriceRates = { input: decimal(input), output: decimal(output) };
  for (const [bucket, text] of Object.entries(others)) rates[bucket as TokenBucket] = decimal(text);
  return rates;
}

export function multipliersOf<Name extends string>(
  texts: Partial<Record<Name, string>>,
): Record<Name, bigint> {
  const multipliers = {} as Record<Name, bigint>;
  for (const name of Object.keys(texts) as Name[]) multipliers[name] = decimal(texts[name] ?? '');
  return multipliers;
}

/** USD per thousand calls → picodollars per call. */
export function feePerThousandCalls(usd: string): bigint {
  return decimal(usd) * 1000n;
}

export function priceOf(rates: PriceRates, terms: Partial<Price> = {}): Price {
  return { rates, tier_multipliers: {}, region_multipliers: {}, fees: {}, ...terms };
}

export const HALF_PRICE_BATCH: Partial<Record<Tier, string>> = { batch: '0.5' };

function decimal(text: string): bigint {
  const value = parseDecimal(text, 6);
  if (value === null) throw new Error(`seed prices: ${text} is not a decimal of six places`);
  return value;
}
