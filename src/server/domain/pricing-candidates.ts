import type { CANDIDATE_FLAGS } from '../../contract/pricing-candidates.ts';
import { RATE_FIELDS } from './price-json.ts';
import { STATED_BUCKETS, type StatedBucket, type StatedPrice, type StatedRates } from './price-readings.ts';

export type CandidateFlag = (typeof CANDIDATE_FLAGS)[number];

const PLACES = 6;
/** A change by more than this, up or down, is more often a misreading than a price. */
const MAX_PLAUSIBLE_FACTOR = 10n;

/** What a bucket is charged as while the price does not state it. */
const FALLBACK: Record<StatedBucket, StatedBucket | null> = {
  input: null,
  output: null,
  cached_read: 'input',
  cache_write_5m: 'input',
  cache_write_1h: 'cache_write_5m',
  audio_input: 'input',
};

/**
 * What is worth a second look about a stated price; null when it says nothing new. A price in another currency
 * cannot be compared with ours and is always shown.
 */
export function flagsOf(
  stated: StatedPrice,
  current: Record<string, unknown> | null,
): CandidateFlag[] | null {
  const flags = new Set<CandidateFlag>();
  if (current === null) flags.add('new_model');
  const differsBase = compareRates(stated.rates, current, flags);
  const differsLong = compareLongContext(stated, current, flags);
  const differs = current === null || differsBase || differsLong;
  if (stated.currency !== 'USD') flags.add('currency_not_usd');
  else if (!differs) return null;
  if (differs && stated.long_context === undefined && current?.long_context !== undefined)
    flags.add('long_context_unchanged');
  return [...flags];
}

type Fields = Record<string, unknown>;

function compareLongContext(stated: StatedPrice, current: Fields | null, flags: Set<CandidateFlag>): boolean {
  const next = stated.long_context;
  if (!next) return false;
  // What has no rate of its own for long prompts is charged as for any other.
  const old = current && { ...current, ...(current.long_context as Fields | undefined) };
  const differs = compareRates(next.rates, old, flags);
  return differs || old?.threshold_tokens !== next.threshold_tokens;
}

function compareRates(rates: StatedRates, current: Fields | null, flags: Set<CandidateFlag>): boolean {
  let differs = false;
  for (const bucket of STATED_BUCKETS) {
    const text = rates[bucket];
    if (text === undefined) continue;
    const next = signedUnits(text);
    const old = current && rateInForce(current, bucket);
    if (old === next) continue;
    differs = true;
    if (next === 0n) flags.add('zero');
    if (next < 0n) flags.add('negative');
    if (old !== null && next > 0n && isJump(old, next)) flags.add('jump_over_10x');
  }
  return differs;
}

function isJump(old: bigint, next: bigint): boolean {
  return next > old * MAX_PLAUSIBLE_FACTOR || old > next * MAX_PLAUSIBLE_FACTOR;
}

/** Null when the price does not charge the bucket at all. */
function rateInForce(price: Record<string, unknown>, bucket: StatedBucket): bigint | null {
  const text = price[RATE_FIELDS[bucket]];
  if (typeof text === 'string') return signedUnits(text);
  const fallback = FALLBACK[bucket];
  return fallback === null ? null : rateInForce(price, fallback);
}

/** Millionths, from a decimal text of at most six places. */
function signedUnits(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const units = BigInt(whole + fraction.padEnd(PLACES, '0'));
  return text.startsWith('-') ? -units : units;
}

/** Such a price can be looked at but never charged. */
export function whyUnusable(flags: readonly string[]): string | null {
  if (flags.includes('negative')) return 'It has a negative rate.';
  if (flags.includes('currency_not_usd')) return 'It is not in US dollars.';
  return null;
}

/** A page that has lost most of the models it had is a changed page, whatever it still says. */
export function hasLostModels(before: readonly string[], now: ReadonlySet<string>): boolean {
  const kept = before.filter((model) => now.has(model)).length;
  return kept * 2 < before.length;
}
