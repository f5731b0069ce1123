import {
  HALF_PRICE_BATCH,
  multipliersOf,
  priceOf,
  type RateTexts,
  ratesOf,
  SEED_EPOCH_MS,
  type SeedModel,
} from './seed-model.ts';

const WINDOW = 1_048_576;
const LONG_CONTEXT_TOKENS = 200_000;
const FLASH_PROMOTION_END_MS = Date.UTC(2027, 0, 1);
/**
 * Priority is announced as 75 to 100 % more; the upper end is taken. Search grounding has a monthly free
 * allowance per account, which no single request can know, so it carries no fee here.
 */
const GENERATE_TIERS = multipliersOf({ ...HALF_PRICE_BATCH, flex: '0.5', priority: '2' });

interface Row {
  id: string;
  family: string;
  as_of?: string;
  source?: string;
  rates: RateTexts;
  /** Rates above 200,000 prompt tokens. */
  long?: RateTexts;
  /** Rates once the promotion has ended. */
  afterPromotion?: RateTexts;
}

function generateModel(row: Row): SeedModel {
  const price = (rates: RateTexts) =>
    priceOf(ratesOf(rates), {
      tier_multipliers: GENERATE_TIERS,
      ...(row.long && { long_context: { threshold_tokens: LONG_CONTEXT_TOKENS, rates: ratesOf(row.long) } }),
    });
  const prices = [{ effective_from: SEED_EPOCH_MS, price: price(row.rates) }];
  if (row.afterPromotion) {
    prices.push({ effective_from: FLASH_PROMOTION_END_MS, price: price(row.afterPromotion) });
  }
  return seed(row.id, row.family, WINDOW, row.as_of ?? '2026-08-08', prices, row.source);
}

function embeddingModel(id: string, window: number, input: string): SeedModel {
  const price = priceOf(ratesOf({ input, output: '0' }), {
    tier_multipliers: multipliersOf(HALF_PRICE_BATCH),
  });
  return seed(id, 'gemini-embedding', window, '2026-08-08', [{ effective_from: SEED_EPOCH_MS, price }]);
}

function seed(
  model_id: string,
  model_family: string,
  context_window: number,
  as_of: string,
  prices: SeedModel['prices'],
  source = 'LiteLLM price table',
): SeedModel {
  return {
    provider: 'prov_c',
    model_id,
    model_family,
    context_window,
    status: 'active',
    source,
    as_of,
    prices,
  };
}

const GENERATE_ROWS: Row[] = [
  {
    id: 'gemini-3.8-flash',
    family: 'gemini-flash',
    as_of: '2026-09-20',
    source: 'copy of the Gemini price page',
    rates: { input: '0.75', output: '3.75', cached_read: '0.075' },
    afterPromotion: { input: '1.5', output: '7.5', cached_read: '0.15' },
  },
  {
    id: 'gemini-3.6-flash',
    family: 'gemini-flash',
    rates: { input: '1.5', output: '7.5', cached_read: '0.15' },
  },
  {
    id: 'gemini-3.5-flash',
    family: 'gemini-flash',
    rates: { input: '1.5', output: '9', cached_read: '0.15' },
  },
  {
    id: 'gemini-3.5-flash-lite',
    family: 'gemini-flash-lite',
    rates: { input: '0.3', output: '2.5', cached_read: '0.03' },
  },
  {
    id: 'gemini-3.1-pro-preview',
    family: 'gemini-pro',
    rates: { input: '2', output: '12', cached_read: '0.2' },
    long: { input: '4', output: '18', cached_read: '0.4' },
  },
  {
    id: 'gemini-3.1-flash-lite',
    family: 'gemini-flash-lite',
    rates: { input: '0.25', output: '1.5', cached_read: '0.025' },
  },
  {
    id: 'gemini-3-flash-preview',
    family: 'gemini-flash',
    rates: { input: '0.5', output: '3', cached_read: '0.05', audio_input: '1' },
  },
  {
    id: 'gemini-2.5-pro',
    family: 'gemini-pro',
    rates: { input: '1.25', output: '10', cached_read: '0.125' },
    long: { input: '2.5', output: '15', cached_read: '0.25' },
  },
  {
    id: 'gemini-2.5-flash',
    family: 'gemini-flash',
    rates: { input: '0.3', output: '2.5', cached_read: '0.03', audio_input: '1' },
  },
  {
    id: 'gemini-2.5-flash-lite',
    family: 'gemini-flash-lite',
    rates: { input: '0.1', output: '0.4', cached_read: '0.01', audio_input: '0.3' },
  },
];

export const PROV_C_MODELS: readonly SeedModel[] = [
  ...GENERATE_ROWS.map(generateModel),
  embeddingModel('gemini-embedding-2', 8_192, '0.2'),
  embeddingModel('gemini-embedding-001', 2_048, '0.15'),
];
