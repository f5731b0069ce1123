import { formatDecimal } from './decimal.ts';
import { type ServedTerms, TOKEN_BUCKETS, type TokenBucket, tokensInput, type Usage } from './usage.ts';

/**
 * Exact prices and exact costs. A price of 0.15 USD per million tokens is 150000 picodollars per token, a
 * whole number; multipliers carry six places. Every product below is therefore an integer, the sum of a
 * request is exact, and rounding happens once, at the very end.
 */
export type Tier = NonNullable<ServedTerms['tier']>;

/** Picodollars per token (USD per million tokens × 10^6). A bucket without a rate takes its fallback's. */
export type PriceRates = { input: bigint; output: bigint } & Partial<Record<TokenBucket, bigint>>;

/** Picodollars per call. The request fees depend on the search-context size of the request. */
export type PriceFees = Partial<
  Record<'web_search' | 'request_low' | 'request_medium' | 'request_high', bigint>
>;

/** Hours in which every rate is multiplied, judged at the instant the request was admitted. */
export interface PeakHours {
  multiplier: bigint;
  /** Minutes of the UTC day, the end excluded. */
  utc_windows: readonly { from_minute: number; to_minute: number }[];
  weekdays_only: boolean;
  /** UTC dates (`YYYY-MM-DD`) without any peak, such as public holidays. */
  except_dates: readonly string[];
}

/** Multipliers are scaled by 10^6: 1.1 is 1100000n. */
export interface Price {
  rates: PriceRates;
  /**
   * Re-prices the whole request, not the excess, once its input is above the threshold; at the threshold
   * the low rates still hold. A rate not stated here stays as it is below.
   */
  long_context?: { threshold_tokens: number; rates: Partial<PriceRates> };
  tier_multipliers: Partial<Record<Tier, bigint>>;
  region_multipliers: Readonly<Record<string, bigint>>;
  fees: PriceFees;
  /** Picodollars per second of audio that the provider bills by duration. */
  per_second?: bigint;
  peak?: PeakHours;
}

/** One summand of a cost; all texts are exact decimals, unrounded. */
export interface CostLine {
  bucket: string;
  quantity: number;
  unit: 'tokens' | 'calls' | 'seconds';
  /** USD per million tokens, per call or per second, multipliers included. */
  rate_usd: string;
  cost_usd: string;
}

export interface Cost {
  /** A safe integer, never negative. */
  microdollars: number;
  readonly breakdown: CostLine[];
  /** True when a count or the total lay outside what can be held exactly and was brought to the bound. */
  clamped: boolean;
  /**
   * What this price has no figure for although the exchange had it: `tier:priority` (billed as standard),
   * `audio_seconds` (billed as nothing). Not empty means the cost is probably too low.
   */
  unpriced: string[];
}

export const MULTIPLIER_PLACES = 6;
const MULTIPLIER_ONE = 10n ** BigInt(MULTIPLIER_PLACES);
/** Tier, region and peak can meet in one rate. */
const COMBINED_PLACES = 3 * MULTIPLIER_PLACES;
const COMBINED_ONE = MULTIPLIER_ONE ** 3n;
const PICODOLLAR_PLACES = 12;
const RATE_PLACES = 6;
const MS_PER_SECOND = 1000n;
/** All lines are summed in units of 10^-33 USD: picodollars, three multipliers, thousandths of a second. */
const COST_PLACES = PICODOLLAR_PLACES + COMBINED_PLACES + 3;
const UNITS_PER_MICRODOLLAR = 10n ** BigInt(COST_PLACES - 6);
const MAX_MICRODOLLARS = BigInt(Number.MAX_SAFE_INTEGER);

const COUNTS = [...TOKEN_BUCKETS, 'audio_milliseconds', 'web_searches'] as const;

/**
 * What a bucket costs when the price does not say: the nearest thing the provider would bill it as. Cached
 * and media input is input, an hour's cache write at least a short one, and everything produced is output.
 */
const FALLBACK_BUCKET: Record<Exclude<TokenBucket, 'input' | 'output'>, TokenBucket> = {
  cached_read: 'input',
  cache_write_5m: 'input',
  cache_write_1h: 'cache_write_5m',
  audio_input: 'input',
  image_input: 'input',
  reasoning: 'output',
  audio_output: 'output',
  image_output: 'output',
  citation: 'output',
};

/** A summand before anybody wants to read it: rate and cost in the smallest units. */
interface Summand {
  bucket: string;
  quantity: number;
  unit: CostLine['unit'];
  rate: bigint;
  ratePlaces: number;
  cost: bigint;
}

export function costOf(price: Price, reported: Usage, terms: ServedTerms, admittedAtMs: number): Cost {
  const { usage, clamped } = boundedUsage(reported);
  const summands = summandsOf(price, usage, multiplierFor(price, terms, admittedAtMs));
  let units = 0n;
  for (const { cost } of summands) units += cost;
  const total = (units * 2n + UNITS_PER_MICRODOLLAR) / (UNITS_PER_MICRODOLLAR * 2n);
  const tooLarge = total > MAX_MICRODOLLARS;
  return {
    microdollars: tooLarge ? Number.MAX_SAFE_INTEGER : Number(total),
    // Written out only for a reader: every request is priced, few are looked at.
    get breakdown() {
      return summands.map(lineOf);
    },
    clamped: clamped || tooLarge,
    unpriced: unpricedParts(price, usage, terms),
  };
}

function summandsOf(price: Price, usage: Usage, multiplier: bigint): Summand[] {
  const rates = ratesFor(price, usage);
  const summands: Summand[] = [];
  for (const bucket of TOKEN_BUCKETS) {
    const quantity = usage[bucket];
    if (quantity === 0) continue;
    const rate = rateOf(rates, bucket) * multiplier;
    const cost = BigInt(quantity) * rate * MS_PER_SECOND;
    summands.push({
      bucket,
      quantity,
      unit: 'tokens',
      rate,
      ratePlaces: RATE_PLACES + COMBINED_PLACES,
      cost,
    });
  }
  if (usage.audio_milliseconds > 0 && price.per_second !== undefined) {
    const rate = price.per_second * multiplier;
    summands.push({
      bucket: 'audio_seconds',
      quantity: usage.audio_milliseconds / 1000,
      unit: 'seconds',
      rate,
      ratePlaces: PICODOLLAR_PLACES + COMBINED_PLACES,
      cost: BigInt(usage.audio_milliseconds) * rate,
    });
  }
  for (const { bucket, calls, fee } of feesFor(price, usage)) {
    const cost = BigInt(calls) * fee * COMBINED_ONE * MS_PER_SECOND;
    summands.push({ bucket, quantity: calls, unit: 'calls', rate: fee, ratePlaces: PICODOLLAR_PLACES, cost });
  }
  return summands;
}

export function isPeak(peak: PeakHours, atMs: number): boolean {
  const at = new Date(atMs);
  const weekday = at.getUTCDay();
  if (peak.weekdays_only && (weekday === 0 || weekday === 6)) return false;
  const minute = at.getUTCHours() * 60 + at.getUTCMinutes();
  if (!peak.utc_windows.some((window) => window.from_minute <= minute && minute < window.to_minute))
    return false;
  return !peak.except_dates.includes(at.toISOString().slice(0, 10));
}

function ratesFor(price: Price, usage: Usage): PriceRates {
  const long = price.long_context;
  if (long === undefined || tokensInput(usage) <= long.threshold_tokens) return price.rates;
  return { ...price.rates, ...long.rates };
}

function rateOf(rates: PriceRates, bucket: TokenBucket): bigint {
  if (bucket === 'input' || bucket === 'output') return rates[bucket];
  return rates[bucket] ?? rateOf(rates, FALLBACK_BUCKET[bucket]);
}

/** Fees per call are the same on every tier and in every region; only rates are multiplied. */
function multiplierFor(price: Price, terms: ServedTerms, admittedAtMs: number): bigint {
  const tier = terms.tier === null ? undefined : price.tier_multipliers[terms.tier];
  // The region is text from a provider's response: `constructor` must not find Object's own.
  const region =
    terms.region !== null && Object.hasOwn(price.region_multipliers, terms.region)
      ? price.region_multipliers[terms.region]
      : undefined;
  const peak =
    price.peak !== undefined && isPeak(price.peak, admittedAtMs) ? price.peak.multiplier : undefined;
  return (tier ?? MULTIPLIER_ONE) * (region ?? MULTIPLIER_ONE) * (peak ?? MULTIPLIER_ONE);
}

function feesFor(price: Price, usage: Usage): { bucket: string; calls: number; fee: bigint }[] {
  const due: { bucket: string; calls: number; fee: bigint }[] = [];
  const { web_search: search } = price.fees;
  if (search !== undefined && usage.web_searches > 0) {
    due.push({ bucket: 'web_search', calls: usage.web_searches, fee: search });
  }
  if (usage.search_context !== null) {
    const fee = price.fees[`request_${usage.search_context}`];
    if (fee !== undefined) due.push({ bucket: `request_${usage.search_context}`, calls: 1, fee });
  }
  return due;
}

function unpricedParts(price: Price, usage: Usage, terms: ServedTerms): string[] {
  const parts: string[] = [];
  if (terms.tier !== null && price.tier_multipliers[terms.tier] === undefined)
    parts.push(`tier:${terms.tier}`);
  if (usage.audio_milliseconds > 0 && price.per_second === undefined) parts.push('audio_seconds');
  return parts;
}

/** A count from outside can be anything; a cost must never turn negative, NaN or inexact because of it. */
function boundedUsage(reported: Usage): { usage: Usage; clamped: boolean } {
  const usage = { ...reported };
  let clamped = false;
  for (const name of COUNTS) {
    const count = reported[name];
    if (Number.isSafeInteger(count) && count >= 0) continue;
    usage[name] = count > 0 ? Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER) : 0;
    clamped = true;
  }
  return { usage, clamped };
}

function lineOf({ bucket, quantity, unit, rate, ratePlaces, cost }: Summand): CostLine {
  return {
    bucket,
    quantity,
    unit,
    rate_usd: formatDecimal(rate, ratePlaces),
    cost_usd: formatDecimal(cost, COST_PLACES),
  };
}
