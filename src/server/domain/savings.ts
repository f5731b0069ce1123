import { formatUsd } from '../../contract/money.ts';
import type { Provider } from '../../contract/providers.ts';
import type { FINDING_TYPES } from '../../contract/savings.ts';
import { formatDecimal } from './decimal.ts';
import { costOf, type Price } from './pricing.ts';
import { emptyUsage, type ServedTerms, type Usage } from './usage.ts';

/** What is looked at, and what a month means in "a dollar a month". */
export const PERIOD_DAYS = 30;
/** Less than a dollar a month is not worth anybody's reading. */
const MIN_SAVINGS_MICRODOLLARS = 1_000_000;

/** A question this short with an answer this short rarely needs the largest model. */
export const SHORT_INPUT_TOKENS = 2_000;
export const SHORT_OUTPUT_TOKENS = 500;
/** A smaller model must cost at most this share of the larger: a quarter off is not worth the risk. */
const SIBLING_COSTS_AT_MOST = { numerator: 1, denominator: 2 };

export const SMALL_TOKENS = 500;
const MANY_REQUESTS = 1_000;

/** How long providers keep a prompt's beginning, renewed by each use. */
export const CACHE_LIFETIME_MINUTES = 5;
/** Four bytes a token; the beginnings compared are of four and of sixteen KiB. */
export const PREFIX_TOKENS = 1_024;
export const LONG_PREFIX_TOKENS = 4_096;

export const DUPLICATE_WINDOW_MINUTES = 10;

/** A model with fewer than one in this many of the tenant's requests to a provider is nearly unused. */
const IDLE_ONE_IN = 100;

export type FindingType = (typeof FINDING_TYPES)[number];
export type Trait = 'plain' | 'short' | 'small' | 'cacheable' | 'duplicate';

/** The requests of one model and service that have a trait, summed over the period. */
export interface TraitTotals {
  provider: Provider;
  model_id: string;
  /** Empty where the requests name none. */
  service_name: string;
  trait: Trait;
  requests: number;
  cost_microdollars: number;
  tokens_fresh: number;
  tokens_cached: number;
  tokens_written_5m: number;
  tokens_written_1h: number;
  tokens_output: number;
  /** Of cacheable and duplicate ones: how many repeat an earlier one, and what they cost. */
  repeats: number;
  repeats_cost_microdollars: number;
  /** Tokens that repeat what was sent just before, and those that would have had to be written for that. */
  repeats_tokens: number;
  firsts_tokens: number;
}

export interface CataloguedModel {
  provider: Provider;
  model_id: string;
  model_family: string;
  status: string;
  price: Price;
}

export interface SavingsDraft {
  finding_type: FindingType;
  provider: Provider;
  model_id: string;
  service_name: string;
  current_cost_microdollars: number;
  optimized_cost_microdollars: number;
  savings_microdollars: number;
  recommendation_text: string;
}

/** Every finding worth showing in one tenant's totals, each from the meter's own prices of today. */
export function findSavings(
  totals: readonly TraitTotals[],
  catalogue: readonly CataloguedModel[],
): SavingsDraft[] {
  const drafts = totals.map((total) => {
    const model = catalogue.find(
      ({ provider, model_id }) => provider === total.provider && model_id === total.model_id,
    );
    return model ? findInTotal(total, model, catalogue) : null;
  });
  drafts.push(...findIdleModels(totals, catalogue));
  return drafts.filter(
    (draft): draft is SavingsDraft =>
      draft !== null && draft.savings_microdollars >= MIN_SAVINGS_MICRODOLLARS,
  );
}

function findInTotal(
  total: TraitTotals,
  model: CataloguedModel,
  catalogue: readonly CataloguedModel[],
): SavingsDraft | null {
  switch (total.trait) {
    case 'short':
      return findDowngrade(total, model, catalogue);
    case 'small':
      return findSmallRequests(total, model);
    case 'cacheable':
      return findUnusedCache(total, model);
    case 'duplicate':
      return findDuplicates(total);
    case 'plain':
      // Of these the model as a whole is looked at.
      return null;
  }
}

function findDowngrade(
  total: TraitTotals,
  model: CataloguedModel,
  catalogue: readonly CataloguedModel[],
): SavingsDraft | null {
  const usage = usageOf(total);
  const siblings = catalogue
    .filter((other) => other !== model && other.provider === model.provider && isOnOffer(other))
    .map((other) => ({ other, cost: plainCost(other.price, usage) }))
    .filter(({ cost }) => isFarBelow(cost, total.cost_microdollars));
  const near = siblings.filter(({ other }) => other.model_family === model.model_family);
  const related = siblings.filter(({ other }) => lineage(other) === lineage(model));
  // One step down, not to the bottom: the dearest of those that are cheap enough.
  const [sibling] = (near.length > 0 ? near : related).sort(
    (a, b) => b.cost - a.cost || (a.other.model_id < b.other.model_id ? 1 : -1),
  );
  if (!sibling || !makesText(model)) return null;
  const name = sibling.other.model_id;
  return draftOf(
    'model_downgrade_opportunity',
    total,
    sibling.cost,
    `${count(total.requests)} requests to ${model.model_id}${ofService(total)} had at most ` +
      `${count(SHORT_INPUT_TOKENS)} input and ${count(SHORT_OUTPUT_TOKENS)} output tokens and cost ` +
      `${usd(total.cost_microdollars)}. The same tokens (${tokenList(total)}) at the rates of ${name} ` +
      `(${rateList(sibling.other.price)}) cost ${usd(sibling.cost)}. Try ${name} on a sample of them and compare ` +
      `the answers before you switch.`,
  );
}

/** Merging small calls saves what they repeat, which nobody knows; a batch tier has a price, so that is counted. */
function findSmallRequests(total: TraitTotals, model: CataloguedModel): SavingsDraft | null {
  const batch = model.price.tier_multipliers.batch;
  if (total.requests < MANY_REQUESTS || batch === undefined) return null;
  const cost = plainCost(model.price, usageOf(total), 'batch');
  return draftOf(
    'small_token_requests',
    total,
    cost,
    `${count(total.requests)} requests to ${model.model_id}${ofService(total)} had at most ${SMALL_TOKENS} tokens ` +
      `in all, were not streamed, and cost ${usd(total.cost_microdollars)}. Gathered and sent through the ` +
      `provider’s batch tier (${formatDecimal(batch, 6)} times the standard rates) the same tokens ` +
      `(${tokenList(total)}) cost ${usd(cost)}. Worth it where an answer may take hours; putting several items ` +
      `into one request saves their repeated instructions besides.`,
  );
}

function findUnusedCache(total: TraitTotals, model: CataloguedModel): SavingsDraft | null {
  const { input, cached_read: cached, cache_write_5m: write } = model.price.rates;
  if (cached === undefined || cached >= input) return null;
  const readSaving = BigInt(total.repeats_tokens) * (input - cached);
  const writePremium = write === undefined ? 0n : BigInt(total.firsts_tokens) * (write - input);
  // Rounded down: a saving is never made larger than it is.
  const saving = Number((readSaving - writePremium) / PICODOLLARS_PER_MICRODOLLAR);
  const premiumText =
    write === undefined
      ? ''
      : `, less ${count(total.firsts_tokens)} tokens written at ${rate(write)} instead of ${rate(input)}`;
  const advice =
    model.provider === 'prov_b'
      ? 'Mark the end of the unchanging part with cache_control.'
      : 'Keep the beginning byte for byte the same, what changes at the end, and name a cache key where the provider takes one.';
  return draftOf(
    'underutilized_cache',
    total,
    total.cost_microdollars - saving,
    `${count(total.repeats)} requests to ${model.model_id}${ofService(total)} began with the same ` +
      `${count(PREFIX_TOKENS)} or ${count(LONG_PREFIX_TOKENS)} tokens as one within ${CACHE_LIFETIME_MINUTES} ` +
      `minutes before, and none was read from the provider’s cache. At least ${count(total.repeats_tokens)} tokens ` +
      `could have cost ${rate(cached)} instead of ${rate(input)}${premiumText}: ${usd(saving)} of ` +
      `${usd(total.cost_microdollars)}. ${advice}`,
  );
}

function findDuplicates(total: TraitTotals): SavingsDraft {
  const firstsCost = total.cost_microdollars - total.repeats_cost_microdollars;
  return draftOf(
    'duplicate_prompts',
    total,
    firstsCost,
    `${count(total.repeats)} requests to ${total.model_id}${ofService(total)} repeated one that had been answered ` +
      `within ${DUPLICATE_WINDOW_MINUTES} minutes before, with the same body. They and the ` +
      `${count(total.requests - total.repeats)} they repeat cost ${usd(total.cost_microdollars)}; the first of each ` +
      `alone ${usd(firstsCost)}. Keep the answers for a while, or look for a retry that fires too early. Requests ` +
      `repeated on purpose, to sample several answers, are counted too.`,
  );
}

/**
 * A model that takes no requests costs nothing where tokens are billed. What costs is the trickle that was left
 * behind on a dearer model when the rest moved on, so that is what is looked for.
 */
function findIdleModels(
  totals: readonly TraitTotals[],
  catalogue: readonly CataloguedModel[],
): SavingsDraft[] {
  const models = catalogue.flatMap((model) => {
    const own = totals.filter(
      (total) =>
        total.trait === 'plain' && total.provider === model.provider && total.model_id === model.model_id,
    );
    return own.length === 0 ? [] : [{ model, total: sumOf(own) }];
  });
  return models.flatMap(({ model, total }) => {
    const ofProvider = models.filter((other) => other.model.provider === model.provider);
    const requests = ofProvider.reduce((sum, other) => sum + other.total.requests, 0);
    if (requests < MANY_REQUESTS || total.requests * IDLE_ONE_IN >= requests) return [];
    const [main] = ofProvider
      .filter((other) => lineage(other.model) === lineage(model) && isOnOffer(other.model))
      .sort((a, b) => b.total.requests - a.total.requests);
    if (!main || main.model === model || !makesText(model)) return [];
    const cost = plainCost(main.model.price, usageOf(total));
    const name = main.model.model_id;
    const text =
      `${model.model_id} took ${count(total.requests)} of your ${count(requests)} requests to its provider and ` +
      `cost ${usd(total.cost_microdollars)}; ${name} took ${count(main.total.requests)}. The same tokens ` +
      `(${tokenList(total)}) at the rates of ${name} (${rateList(main.model.price)}) cost ${usd(cost)}. Move what ` +
      `is left over and retire ${model.model_id}.`;
    return [draftOf('idle_models', total, cost, text)];
  });
}

function draftOf(
  finding_type: FindingType,
  total: TraitTotals,
  optimized: number,
  text: string,
): SavingsDraft {
  const savings = total.cost_microdollars - optimized;
  return {
    finding_type,
    provider: total.provider,
    model_id: total.model_id,
    service_name: total.service_name,
    current_cost_microdollars: total.cost_microdollars,
    optimized_cost_microdollars: optimized,
    savings_microdollars: savings,
    recommendation_text: `${text} Saving: ${usd(savings)} in ${PERIOD_DAYS} days.`,
  };
}

const PICODOLLARS_PER_MICRODOLLAR = 1_000_000n;
const RATE_PLACES = 6;

/** Many requests priced at once. What depends on the size or the hour of one request is left out. */
function plainCost(price: Price, usage: Usage, tier: ServedTerms['tier'] = null): number {
  const { long_context: _long, peak: _peak, ...flat } = price;
  return costOf(flat, usage, { tier, region: null }, 0).microdollars;
}

function usageOf(total: TraitTotals): Usage {
  return {
    ...emptyUsage(),
    input: total.tokens_fresh,
    cached_read: total.tokens_cached,
    cache_write_5m: total.tokens_written_5m,
    cache_write_1h: total.tokens_written_1h,
    output: total.tokens_output,
  };
}

/** All services together. */
function sumOf(totals: readonly TraitTotals[]): TraitTotals {
  const sum: TraitTotals = { ...totals[0]!, service_name: '' };
  for (const total of totals.slice(1)) {
    for (const [name, value] of Object.entries(total)) {
      if (typeof value === 'number') (sum as unknown as Record<string, number>)[name]! += value;
    }
  }
  return sum;
}

function isFarBelow(cost: number, current: number): boolean {
  return cost * SIBLING_COSTS_AT_MOST.denominator <= current * SIBLING_COSTS_AT_MOST.numerator;
}

function isOnOffer(model: CataloguedModel): boolean {
  return model.status === 'active' && makesText(model);
}

/** Embeddings and models that make images or sound are no stand-in for one that answers in text. */
function makesText({ price: { rates } }: CataloguedModel): boolean {
  return rates.output > 0n && rates.audio_output === undefined && rates.image_output === undefined;
}

/** `gpt-5.4` and `gpt-4o` are both of gpt, `claude-opus` and `claude-haiku` of claude. */
function lineage(model: CataloguedModel): string {
  return /^[a-z]+/i.exec(model.model_family)?.[0].toLowerCase() ?? model.model_family;
}

function ofService(total: TraitTotals): string {
  return total.service_name === '' ? '' : ` from the service ${total.service_name}`;
}

function tokenList(total: TraitTotals): string {
  const written = total.tokens_written_5m + total.tokens_written_1h;
  return [
    `${count(total.tokens_fresh)} input`,
    ...(total.tokens_cached > 0 ? [`${count(total.tokens_cached)} cached`] : []),
    ...(written > 0 ? [`${count(written)} written to the cache`] : []),
    `${count(total.tokens_output)} output`,
  ].join(', ');
}

function rateList(price: Price): string {
  return `${rate(price.rates.input)} input and ${rate(price.rates.output)} output`;
}

function rate(picodollarsPerToken: bigint): string {
  return `$${formatDecimal(picodollarsPerToken, RATE_PLACES)} per million`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** Cents at least, and no more digits than there are. */
function usd(microdollars: number): string {
  return `$${formatUsd(microdollars).replace(/0{1,4}$/, '')}`;
}
