import { formatDecimal, parseDecimal } from './decimal.ts';
import {
  MULTIPLIER_PLACES,
  type PeakHours,
  type Price,
  type PriceFees,
  type PriceRates,
  type Tier,
} from './pricing.ts';
import { TOKEN_BUCKETS, type TokenBucket } from './usage.ts';

/**
 * A price as the operator writes it and as the database keeps it. Amounts are JSON numbers or decimal texts
 * on the way in and always decimal texts on the way out, so that nothing is ever carried as a double.
 */
const PRICE_PLACES = 6;
/** Guards against a price typed in the wrong unit; real ones stay below a few hundred. */
const MAX_PRICE_USD = 1_000_000n * 10n ** BigInt(PRICE_PLACES);
const MAX_MULTIPLIER = 100n * 10n ** BigInt(MULTIPLIER_PLACES);
const MAX_THRESHOLD_TOKENS = 1_000_000_000;
const MAX_REGIONS = 32;
const MAX_PEAK_WINDOWS = 24;
const MAX_EXCEPT_DATES = 400;
/** USD per thousand calls at six places → picodollars per call. */
const PICODOLLARS_PER_CALL = 1000n;

export const RATE_FIELDS: Record<TokenBucket, string> = {
  input: 'pricing_input_per_mtok',
  output: 'pricing_output_per_mtok',
  cached_read: 'pricing_cached_per_mtok',
  cache_write_5m: 'pricing_cache_write_per_mtok',
  cache_write_1h: 'pricing_cache_write_1h_per_mtok',
  audio_input: 'pricing_audio_input_per_mtok',
  audio_output: 'pricing_audio_output_per_mtok',
  image_input: 'pricing_image_input_per_mtok',
  image_output: 'pricing_image_output_per_mtok',
  reasoning: 'pricing_reasoning_per_mtok',
  citation: 'pricing_citation_per_mtok',
};
const FEE_FIELDS: Record<keyof PriceFees, string> = {
  web_search: 'web_search_per_1k_usd',
  request_low: 'request_low_per_1k_usd',
  request_medium: 'request_medium_per_1k_usd',
  request_high: 'request_high_per_1k_usd',
};
const FEE_NAMES = Object.keys(FEE_FIELDS) as (keyof PriceFees)[];
const TIERS: readonly Tier[] = ['flex', 'priority', 'batch', 'fast'];
const REGION_NAME = /^[a-z0-9-]{1,32}$/;
const CLOCK_TIME = /^([01]\d|2[0-3]):([0-5]\d)$|^24:00$/;

/** Every top-level field of a price; an operator's body holds the model's own fields beside them. */
export const PRICE_FIELDS: readonly string[] = [
  ...Object.values(RATE_FIELDS),
  'pricing_per_second_microdollars',
  'long_context',
  'tier_multipliers',
  'region_multipliers',
  'fees',
  'peak',
];

/** Why a price is refused: the field by its path, and what is wrong with it. */
export interface PriceProblem {
  field: string;
  problem: string;
}
type Fields = Record<string, unknown>;

/** Null counts as absent. The first problem found is the answer; a field nobody knows is one. */
export function parsePrice(json: unknown): Price | PriceProblem {
  const problems: PriceProblem[] = [];
  const fields = readObject(json, '', PRICE_FIELDS, problems);
  const { input, output, ...optional } = readRates(fields, '', problems);
  if (input === undefined) problems.push({ field: RATE_FIELDS.input, problem: 'is required' });
  if (output === undefined) problems.push({ field: RATE_FIELDS.output, problem: 'is required' });
  const perSecond = readAmount(fields, 'pricing_per_second_microdollars', '', problems);
  const longContext = isAbsent(fields.long_context)
    ? undefined
    : readLongContext(fields.long_context, problems);
  const peak = isAbsent(fields.peak) ? undefined : readPeak(fields.peak, problems);
  const price: Price = {
    rates: { input: input ?? 0n, output: output ?? 0n, ...optional },
    tier_multipliers: readMultipliers(fields.tier_multipliers, 'tier_multipliers', TIERS, problems),
    region_multipliers: readMultipliers(fields.region_multipliers, 'region_multipliers', null, problems),
    fees: readFees(fields.fees, problems),
    ...(perSecond !== undefined && { per_second: perSecond }),
    ...(longContext !== undefined && { long_context: longContext }),
    ...(peak !== undefined && { peak }),
  };
  return problems[0] ?? price;
}

export function priceToJson(price: Price): Fields {
  const { long_context: long, peak } = price;
  return {
    ...ratesToJson(price.rates),
    ...(price.per_second !== undefined && {
      pricing_per_second_microdollars: formatDecimal(price.per_second, PRICE_PLACES),
    }),
    ...(long && {
      long_context: { threshold_tokens: long.threshold_tokens, ...ratesToJson(long.rates) },
    }),
    tier_multipliers: multipliersToJson(price.tier_multipliers),
    region_multipliers: multipliersToJson(price.region_multipliers),
    fees: feesToJson(price.fees),
    ...(peak && {
      peak: {
        multiplier: formatDecimal(peak.multiplier, MULTIPLIER_PLACES),
        utc_windows: peak.utc_windows.map((window) => ({
          from: clockTime(window.from_minute),
          to: clockTime(window.to_minute),
        })),
        weekdays_only: peak.weekdays_only,
        except_dates: [...peak.except_dates],
      },
    }),
  };
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** An empty object stands in for a wrong one, so that reading can go on to the end. */
function readObject(
  value: unknown,
  path: string,
  allowed: readonly string[] | null,
  problems: PriceProblem[],
): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push({ field: path || 'price', problem: 'must be an object' });
    return {};
  }
  for (const name of Object.keys(value)) {
    if (allowed && !allowed.includes(name))
      problems.push({ field: join(path, name), problem: 'is not a known field' });
  }
  return value as Fields;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function readAmount(
  fields: Fields,
  name: string,
  path: string,
  problems: PriceProblem[],
): bigint | undefined {
  return readScaled(fields, name, path, MAX_PRICE_USD, problems);
}

function readScaled(
  fields: Fields,
  name: string,
  path: string,
  max: bigint,
  problems: PriceProblem[],
): bigint | undefined {
  const value = fields[name];
  if (isAbsent(value)) return undefined;
  const scaled = parseDecimal(value, PRICE_PLACES);
  if (scaled !== null && scaled <= max) return scaled;
  const most = formatDecimal(max, PRICE_PLACES);
  problems.push({
    field: join(path, name),
    problem: `must be a decimal from 0 to ${most} with at most six places`,
  });
  return undefined;
}

function readRates(fields: Fields, path: string, problems: PriceProblem[]): Partial<PriceRates> {
  const rates: Partial<PriceRates> = {};
  for (const bucket of TOKEN_BUCKETS) {
    const rate = readAmount(fields, RATE_FIELDS[bucket], path, problems);
    if (rate !== undefined) rates[bucket] = rate;
  }
  return rates;
}

function readLongContext(value: unknown, problems: PriceProblem[]): NonNullable<Price['long_context']> {
  const path = 'long_context';
  const fields = readObject(value, path, ['threshold_tokens', ...Object.values(RATE_FIELDS)], problems);
  const threshold = fields.threshold_tokens;
  const valid =
    Number.isInteger(threshold) && Number(threshold) > 0 && Number(threshold) <= MAX_THRESHOLD_TOKENS;
  if (!valid) {
    problems.push({
      field: `${path}.threshold_tokens`,
      problem: `must be a whole number from 1 to ${MAX_THRESHOLD_TOKENS}`,
    });
  }
  return { threshold_tokens: Number(threshold), rates: readRates(fields, path, problems) };
}

function readMultipliers(
  value: unknown,
  path: string,
  allowed: readonly string[] | null,
  problems: PriceProblem[],
): Record<string, bigint> {
  if (isAbsent(value)) return {};
  const fields = readObject(value, path, allowed, problems);
  const names = Object.keys(fields);
  if (names.length > MAX_REGIONS) {
    problems.push({ field: path, problem: `must not have more than ${MAX_REGIONS} entries` });
    return {};
  }
  const multipliers: Record<string, bigint> = {};
  for (const name of names) {
    if (!REGION_NAME.test(name)) {
      problems.push({
        field: join(path, name),
        problem: 'must be a name of lower-case letters, digits and hyphens',
      });
      continue;
    }
    const multiplier = readScaled(fields, name, path, MAX_MULTIPLIER, problems);
    if (multiplier !== undefined) multipliers[name] = multiplier;
  }
  return multipliers;
}

function readFees(value: unknown, problems: PriceProblem[]): PriceFees {
  if (isAbsent(value)) return {};
  const fields = readObject(value, 'fees', Object.values(FEE_FIELDS), problems);
  const fees: PriceFees = {};
  for (const name of FEE_NAMES) {
    const usdPer1k = readAmount(fields, FEE_FIELDS[name], 'fees', problems);
    if (usdPer1k !== undefined) fees[name] = usdPer1k * PICODOLLARS_PER_CALL;
  }
  return fees;
}

function readPeak(value: unknown, problems: PriceProblem[]): PeakHours {
  const known = ['multiplier', 'utc_windows', 'weekdays_only', 'except_dates'];
  const fields = readObject(value, 'peak', known, problems);
  const multiplier = readScaled(fields, 'multiplier', 'peak', MAX_MULTIPLIER, problems);
  if (isAbsent(fields.multiplier)) problems.push({ field: 'peak.multiplier', problem: 'is required' });
  const weekdaysOnly = fields.weekdays_only ?? false;
  if (typeof weekdaysOnly !== 'boolean') {
    problems.push({ field: 'peak.weekdays_only', problem: 'must be true or false' });
  }
  const dates = fields.except_dates ?? [];
  if (!Array.isArray(dates) || dates.length > MAX_EXCEPT_DATES || !dates.every(isDate)) {
    problems.push({
      field: 'peak.except_dates',
      problem: `must be at most ${MAX_EXCEPT_DATES} dates YYYY-MM-DD`,
    });
  }
  return {
    multiplier: multiplier ?? 0n,
    utc_windows: readWindows(fields.utc_windows, problems),
    weekdays_only: weekdaysOnly === true,
    except_dates: Array.isArray(dates) ? dates.filter(isDate) : [],
  };
}

function readWindows(value: unknown, problems: PriceProblem[]): PeakHours['utc_windows'] {
  const field = 'peak.utc_windows';
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_PEAK_WINDOWS) {
    problems.push({ field, problem: `must be an array of 1 to ${MAX_PEAK_WINDOWS} windows` });
    return [];
  }
  return value.map((entry: unknown, index) => {
    const fields = readObject(entry, `${field}.${index}`, ['from', 'to'], problems);
    const from = minuteOf(fields.from);
    const to = minuteOf(fields.to);
    if (from === null || to === null || from >= to) {
      problems.push({
        field: `${field}.${index}`,
        problem: 'must have from and to as HH:MM, from before to',
      });
    }
    return { from_minute: from ?? 0, to_minute: to ?? 0 };
  });
}

function minuteOf(value: unknown): number | null {
  if (typeof value !== 'string' || !CLOCK_TIME.test(value)) return null;
  return Number(value.slice(0, 2)) * 60 + Number(value.slice(3));
}

function clockTime(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

function isDate(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const ms = Date.parse(`${value}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value);
}

function ratesToJson(rates: Partial<PriceRates>): Fields {
  const json: Fields = {};
  for (const bucket of TOKEN_BUCKETS) {
    const rate = rates[bucket];
    if (rate !== undefined) json[RATE_FIELDS[bucket]] = formatDecimal(rate, PRICE_PLACES);
  }
  return json;
}

function multipliersToJson(multipliers: Readonly<Record<string, bigint>>): Fields {
  return Object.fromEntries(
    Object.entries(multipliers).map(([name, value]) => [name, formatDecimal(value, MULTIPLIER_PLACES)]),
  );
}

function feesToJson(fees: PriceFees): Fields {
  const json: Fields = {};
  for (const name of FEE_NAMES) {
    const fee = fees[name];
    if (fee !== undefined) json[FEE_FIELDS[name]] = formatDecimal(fee / PICODOLLARS_PER_CALL, PRICE_PLACES);
  }
  return json;
}
