import type { Price, PriceRates } from '../pricing.ts';
import {
  feePerThousandCalls,
  HALF_PRICE_BATCH,
  multipliersOf,
  priceOf,
  type RateTexts,
  ratesOf,
  SEED_EPOCH_MS,
  type SeedModel,
} from './seed-model.ts';

const LONG_CONTEXT_TOKENS = 272_000;
const SEARCH_FEE = { web_search: feePerThousandCalls('10') };
/** Regional processing costs a tenth more; that it begins with GPT-5.4 and covers both regions is assumed. */
const REGIONAL = multipliersOf({ us: '1.1', eu: '1.1' });
/**
 * GPT-5.6 Sol was seen below its list price on this day; when that began, and when it will end, is not known.
 */
const SOL_PROMOTION_MS = Date.UTC(2026, 7, 21);

/** Above 272,000 input tokens all input classes cost twice as much and all output half as much again. */
function longContextOf(rates: PriceRates): NonNullable<Price['long_context']> {
  const long: Partial<PriceRates> = { input: rates.input * 2n, output: (rates.output * 3n) / 2n };
  if (rates.cached_read !== undefined) long.cached_read = rates.cached_read * 2n;
  if (rates.cache_write_5m !== undefined) long.cache_write_5m = rates.cache_write_5m * 2n;
  return { threshold_tokens: LONG_CONTEXT_TOKENS, rates: long };
}

interface Row {
  id: string;
  family: string;
  window: number | null;
  as_of: string;
  /** Absent: the table most rows were read from. */
  source?: string;
  rates: RateTexts;
  longContext?: boolean;
  regional?: boolean;
  /** Multipliers of the tiers besides batch; absent where the provider offers none. */
  flex?: string;
  priority?: string;
  listBeforePromotion?: RateTexts;
}

function textModel(row: Row): SeedModel {
  const price = (texts: RateTexts): Price => {
    const rates = ratesOf(texts);
    return priceOf(rates, {
      tier_multipliers: multipliersOf({
        ...HALF_PRICE_BATCH,
        ...(row.flex && { flex: row.flex }),
        ...(row.priority && { priority: row.priority }),
      }),
      fees: SEARCH_FEE,
      ...(row.regional && { region_multipliers: REGIONAL }),
      ...(row.longContext && { long_context: longContextOf(rates) }),
    });
  };
  const current = price(row.rates);
  const prices = row.listBeforePromotion
    ? [
        { effective_from: SEED_EPOCH_MS, price: price(row.listBeforePromotion) },
        { effective_from: SOL_PROMOTION_MS, price: current },
      ]
    : [{ effective_from: SEED_EPOCH_MS, price: current }];
  return seed(row.id, row.family, row.window, row.as_of, prices, row.source);
}

function seed(
  model_id: string,
  model_family: string,
  context_window: number | null,
  as_of: string,
  prices: SeedModel['prices'],
  source = 'LiteLLM price table',
): SeedModel {
  return {
    provider: 'prov_a',
    model_id,
    model_family,
    context_window,
    status: 'active',
    source,
    as_of,
    prices,
  };
}

/** GPT-5.4 and later with a window of a million tokens. */
const WIDE = { window: 1_050_000, longContext: true, regional: true, flex: '0.5', priority: '2' };
/** GPT-5 and the small GPT-5.4 models. */
const NARROW = { window: 272_000, flex: '0.5' };
const SOL_LIST: RateTexts = { input: '5', output: '30', cached_read: '0.5', cache_write_5m: '6.25' };
const SOL: RateTexts = { input: '4', output: '20', cached_read: '0.4', cache_write_5m: '5' };
const GPT_4O: RateTexts = { input: '2.5', output: '10', cached_read: '1.25' };

const TEXT_ROWS: Row[] = [
  {
    id: 'gpt-6.1-sol',
    family: 'gpt-6',
    as_of: '2026-10-01',
    source: 'LiteLLM release notes',
    ...WIDE,
    rates: { input: '2', output: '10', cached_read: '0.1', cache_write_5m: '2.5' },
  },
  {
    id: 'gpt-6-sol',
    family: 'gpt-6',
    as_of: '2026-09-22',
    source: 'LiteLLM release notes',
    ...WIDE,
    rates: { input: '2', output: '10', cached_read: '0.2', cache_write_5m: '2.5' },
  },
  {
    id: 'gpt-6-luna',
    family: 'gpt-6',
    as_of: '2026-09-22',
    source: 'LiteLLM release notes',
    ...WIDE,
    rates: { input: '0.1', output: '0.5', cached_read: '0.01', cache_write_5m: '0.125' },
  },
  // Its window, and with it the long-context rule, is not confirmed; the write rate is the 1.25 rule applied.
  {
    id: 'gpt-6-astra',
    family: 'gpt-6',
    as_of: '2026-09',
    source: 'reseller list',
    ...WIDE,
    window: null,
    longContext: false,
    rates: { input: '10', output: '50', cached_read: '1', cache_write_5m: '12.5' },
  },
  {
    id: 'gpt-5.6-sol',
    family: 'gpt-5.6',
    as_of: '2026-08-21',
    source: 'OpenAI model page',
    ...WIDE,
    rates: SOL,
    listBeforePromotion: SOL_LIST,
  },
  {
    id: 'gpt-5.6',
    family: 'gpt-5.6',
    as_of: '2026-08-21',
    source: 'OpenAI model page',
    ...WIDE,
    rates: SOL,
    listBeforePromotion: SOL_LIST,
  },
  {
    id: 'gpt-5.6-terra',
    family: 'gpt-5.6',
    as_of: '2026-08-08',
    ...WIDE,
    rates: { input: '2', output: '12', cached_read: '0.2', cache_write_5m: '2.5' },
  },
  {
    id: 'gpt-5.6-luna',
    family: 'gpt-5.6',
    as_of: '2026-08-08',
    ...WIDE,
    rates: { input: '0.2', output: '1.2', cached_read: '0.02', cache_write_5m: '0.25' },
  },
  {
    id: 'gpt-5.5',
    family: 'gpt-5.5',
    as_of: '2026-08-08',
    ...WIDE,
    priority: '2.5',
    rates: { input: '5', output: '30', cached_read: '0.5' },
  },
  {
    id: 'gpt-5.5-pro',
    family: 'gpt-5.5',
    as_of: '2026-08-08',
    window: 1_050_000,
    flex: '0.5',
    rates: { input: '30', output: '180', cached_read: '3' },
  },
  {
    id: 'gpt-5.4',
    family: 'gpt-5.4',
    as_of: '2026-08-08',
    ...WIDE,
    rates: { input: '2.5', output: '15', cached_read: '0.25' },
  },
  {
    id: 'gpt-5.4-mini',
    family: 'gpt-5.4',
    as_of: '2026-08-08',
    ...NARROW,
    regional: true,
    priority: '2',
    rates: { input: '0.75', output: '4.5', cached_read: '0.075' },
  },
  {
    id: 'gpt-5.4-nano',
    family: 'gpt-5.4',
    as_of: '2026-08-08',
    ...NARROW,
    regional: true,
    rates: { input: '0.2', output: '1.25', cached_read: '0.02' },
  },
  {
    id: 'gpt-5.2',
    family: 'gpt-5.2',
    as_of: '2026-08-08',
    ...NARROW,
    priority: '2',
    rates: { input: '1.75', output: '14', cached_read: '0.175' },
  },
  {
    id: 'gpt-5.1',
    family: 'gpt-5.1',
    as_of: '2026-08-08',
    ...NARROW,
    priority: '2',
    rates: { input: '1.25', output: '10', cached_read: '0.125' },
  },
  {
    id: 'gpt-5',
    family: 'gpt-5',
    as_of: '2026-08-08',
    ...NARROW,
    priority: '2',
    rates: { input: '1.25', output: '10', cached_read: '0.125' },
  },
  {
    id: 'gpt-5-mini',
    family: 'gpt-5',
    as_of: '2026-08-08',
    ...NARROW,
    priority: '1.8',
    rates: { input: '0.25', output: '2', cached_read: '0.025' },
  },
  {
    id: 'gpt-5-nano',
    family: 'gpt-5',
    as_of: '2026-08-08',
    ...NARROW,
    rates: { input: '0.05', output: '0.4', cached_read: '0.005' },
  },
  {
    id: 'gpt-4.1',
    family: 'gpt-4.1',
    as_of: '2026-08-08',
    window: 1_047_576,
    priority: '1.75',
    rates: { input: '2', output: '8', cached_read: '0.5' },
  },
  {
    id: 'gpt-4.1-mini',
    family: 'gpt-4.1',
    as_of: '2026-08-08',
    window: 1_047_576,
    priority: '1.75',
    rates: { input: '0.4', output: '1.6', cached_read: '0.1' },
  },
  {
    id: 'gpt-4.1-nano',
    family: 'gpt-4.1',
    as_of: '2026-08-08',
    window: 1_047_576,
    priority: '2',
    rates: { input: '0.1', output: '0.4', cached_read: '0.025' },
  },
  { id: 'gpt-4o', family: 'gpt-4o', as_of: '2026-08-08', window: 128_000, priority: '1.7', rates: GPT_4O },
  {
    id: 'gpt-4o-2024-08-06',
    family: 'gpt-4o',
    as_of: '2026-08-08',
    window: 128_000,
    priority: '1.7',
    rates: GPT_4O,
  },
  // Priority 0.25 / 1.00 is not confirmed: five thirds, as near as six places come.
  {
    id: 'gpt-4o-mini',
    family: 'gpt-4o',
    as_of: '2026-08-08',
    window: 128_000,
    priority: '1.666667',
    rates: { input: '0.15', output: '0.6', cached_read: '0.075' },
  },
  // Priority 3.50 / 14.00 is not confirmed.
  {
    id: 'o3',
    family: 'o3',
    as_of: '2026-08-08',
    window: 200_000,
    flex: '0.5',
    priority: '1.75',
    rates: { input: '2', output: '8', cached_read: '0.5' },
  },
  // Priority 2.00 / 8.00 is not confirmed, as near as six places come.
  {
    id: 'o4-mini',
    family: 'o4-mini',
    as_of: '2026-08-08',
    window: 200_000,
    flex: '0.5',
    priority: '1.818182',
    rates: { input: '1.1', output: '4.4', cached_read: '0.275' },
  },
];

function tokenModel(
  id: string,
  family: string,
  window: number | null,
  rates: RateTexts,
  batch = false,
): SeedModel {
  const price = priceOf(ratesOf(rates), batch ? { tier_multipliers: multipliersOf(HALF_PRICE_BATCH) } : {});
  return seed(id, family, window, '2026-08-08', [{ effective_from: SEED_EPOCH_MS, price }]);
}

export const PROV_A_MODELS: readonly SeedModel[] = [
  ...TEXT_ROWS.map(textModel),
  tokenModel('gpt-4o-audio-preview', 'gpt-4o-audio', 128_000, {
    input: '2.5',
    output: '10',
    audio_input: '40',
    audio_output: '80',
  }),
  tokenModel('text-embedding-3-large', 'text-embedding-3', 8_191, { input: '0.13', output: '0' }, true),
  tokenModel('text-embedding-3-small', 'text-embedding-3', 8_191, { input: '0.02', output: '0' }, true),
  tokenModel('gpt-image-1', 'gpt-image', null, {
    input: '5',
    output: '40',
    cached_read: '1.25',
    image_input: '10',
    image_output: '40',
  }),
];
