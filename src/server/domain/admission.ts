import type { Provider } from '../../contract/providers.ts';
import { costOf, type Price, type PriceRates } from './pricing.ts';
import { emptyUsage, type ServedTerms, type TokenBucket } from './usage.ts';

/** Used while there is no history for a model; afterwards what nearly every answer stays below. */
export const OUTPUT_TOKENS_WITHOUT_HISTORY = 4_096;
export const MIN_OUTPUT_TOKENS_BY_HISTORY = 1_000;
const MIN_HISTORY = 20;

/** Some tokenizers cut the same text into more pieces than the one the bound was measured with. */
const TOKENIZER_FACTOR: Record<Provider, number> = { prov_a: 1, prov_b: 1.35, prov_c: 1.1, prov_d: 1.2 };
/** A tool may search several times in one request; its own limit, if any, is not read. */
const WEB_SEARCHES_AT_MOST = 5;

/** What a request says about itself that bears on its largest possible cost. */
export interface CostQuestion {
  provider: Provider;
  inputTokensAtMost: number;
  /** Of one choice. */
  outputTokensAtMost: number;
  choices: number;
  tierRequested: ServedTerms['tier'];
  regionRequested: string | null;
  /** Words found in the body that make dearer buckets possible. */
  mentions: { cacheControl: boolean; cacheOneHour: boolean; audio: boolean; webSearch: boolean };
}

/**
 * The most a request can cost, by the very function that will meter it: all input in the dearest bucket it
 * could fall into, all output too, at the tier asked for or the standard one, whichever is more.
 */
export function costAtMost(price: Price, question: CostQuestion, admittedAtMs: number): number {
  const input = Math.ceil(question.inputTokensAtMost * TOKENIZER_FACTOR[question.provider]);
  const usage = emptyUsage();
  const rates = ratesAt(price, input);
  usage[dearestOf(rates, inputBuckets(question))] = input;
  usage[dearestOf(rates, outputBuckets(question))] = question.outputTokensAtMost * question.choices;
  usage.web_searches = question.mentions.webSearch ? WEB_SEARCHES_AT_MOST : 0;
  usage.search_context = 'high';
  const region = question.regionRequested;
  const standard = costOf(price, usage, { tier: null, region }, admittedAtMs).microdollars;
  if (question.tierRequested === null) return standard;
  return Math.max(
    standard,
    costOf(price, usage, { tier: question.tierRequested, region }, admittedAtMs).microdollars,
  );
}

/** A bucket that this much input makes dearest need not be the dearest below the threshold. */
function ratesAt(price: Price, inputTokens: number): PriceRates {
  const long = price.long_context;
  return long && inputTokens > long.threshold_tokens ? { ...price.rates, ...long.rates } : price.rates;
}

/** Only models that take or make pictures have rates for them. */
function inputBuckets(question: CostQuestion): TokenBucket[] {
  const buckets: TokenBucket[] = ['input', 'image_input'];
  // OpenAI writes to its cache without being asked; Anthropic only where the request marks it.
  if (question.provider === 'prov_a' || question.mentions.cacheControl) buckets.push('cache_write_5m');
  if (question.mentions.cacheOneHour) buckets.push('cache_write_1h');
  if (question.mentions.audio) buckets.push('audio_input');
  return buckets;
}

function outputBuckets(question: CostQuestion): TokenBucket[] {
  const buckets: TokenBucket[] = ['output', 'reasoning', 'image_output'];
  if (question.mentions.audio) buckets.push('audio_output');
  return buckets;
}

function dearestOf(rates: PriceRates, buckets: readonly TokenBucket[]): TokenBucket {
  let dearest = buckets[0]!;
  for (const bucket of buckets) if ((rates[bucket] ?? 0n) > (rates[dearest] ?? 0n)) dearest = bucket;
  return dearest;
}

/** The 99th percentile of what a model answered lately, for requests that state no cap of their own. */
export function outputTokensByHistory(recent: readonly number[]): number {
  if (recent.length < MIN_HISTORY) return OUTPUT_TOKENS_WITHOUT_HISTORY;
  const sorted = [...recent].sort((a, b) => a - b);
  const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1]!;
  return Math.max(p99, MIN_OUTPUT_TOKENS_BY_HISTORY);
}

const SHARE_DIVISOR = 8;
const MAX_SHARE_IN_NEEDS = 32;

/**
 * How much more than it needs right now a node takes from a budget, so that the next requests need not ask.
 * A share of what is left, which shrinks to nothing as the limit comes near.
 */
export function leaseShare(leftMicrodollars: number, needMicrodollars: number): number {
  const share = Math.floor((leftMicrodollars - needMicrodollars) / SHARE_DIVISOR);
  return Math.max(0, Math.min(share, needMicrodollars * MAX_SHARE_IN_NEEDS));
}
