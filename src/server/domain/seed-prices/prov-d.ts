import type { PeakHours, Price, PriceFees } from '../pricing.ts';
import {
  feePerThousandCalls,
  multipliersOf,
  priceOf,
  type RateTexts,
  ratesOf,
  SEED_EPOCH_MS,
  type SeedModel,
} from './seed-model.ts';

/**
 * The stated rates are the off-peak ones. Both windows lie within one Beijing day, so UTC weekdays and dates
 * are the Beijing ones. China names its holidays each November for the year after: the list needs the
 * operator's hand then, and a missing date bills a holiday at the peak rate. New Year 2027 is assumed.
 */
const DEEPSEEK_PEAK: PeakHours = {
  multiplier: multipliersOf({ peak: '2' }).peak,
  utc_windows: [
    { from_minute: 1 * 60, to_minute: 4 * 60 },
    { from_minute: 6 * 60, to_minute: 10 * 60 },
  ],
  weekdays_only: true,
  except_dates: [
    '2026-01-01',
    '2026-01-02',
    '2026-02-16',
    '2026-02-17',
    '2026-02-18',
    '2026-02-19',
    '2026-02-20',
    '2026-02-23',
    '2026-04-06',
    '2026-05-01',
    '2026-05-04',
    '2026-05-05',
    '2026-06-19',
    '2026-09-25',
    '2026-10-01',
    '2026-10-02',
    '2026-10-05',
    '2026-10-06',
    '2026-10-07',
    '2027-01-01',
  ],
};
/** `mistral-medium-latest` moved to Medium 3.5 on this day and changed its price under the same name. */
const MISTRAL_MEDIUM_MOVE_MS = Date.UTC(2026, 4, 22);

interface Row {
  id: string;
  family: string;
  window: number;
  rates: RateTexts;
  as_of?: string;
  source?: string;
  terms?: Partial<Price>;
  status?: SeedModel['status'];
  /** What the name cost before the Mistral Medium move. */
  before?: RateTexts;
}

function compatibleModel(row: Row): SeedModel {
  const current = priceOf(ratesOf(row.rates), row.terms);
  return {
    provider: 'prov_d',
    model_id: row.id,
    model_family: row.family,
    context_window: row.window,
    status: row.status ?? 'active',
    source: row.source ?? 'LiteLLM price table',
    as_of: row.as_of ?? '2026-08-08',
    prices: row.before
      ? [
          { effective_from: SEED_EPOCH_MS, price: priceOf(ratesOf(row.before), row.terms) },
          { effective_from: MISTRAL_MEDIUM_MOVE_MS, price: current },
        ]
      : [{ effective_from: SEED_EPOCH_MS, price: current }],
  };
}

function requestFees(low: string, medium: string, high: string): { fees: PriceFees } {
  return {
    fees: {
      request_low: feePerThousandCalls(low),
      request_medium: feePerThousandCalls(medium),
      request_high: feePerThousandCalls(high),
    },
  };
}

const FLASH_RATES: RateTexts = { input: '0.15', output: '0.6', cached_read: '0.003' };
const DEEPSEEK = {
  family: 'deepseek',
  window: 1_000_000,
  source: 'DeepSeek price page',
  as_of: '2026-10-27',
} as const;
/** Chat completions on Sonar are reported to have ended on 2026-09-27; the prices stay for those who still can. */
const SONAR = {
  family: 'sonar',
  source: 'Perplexity price page',
  as_of: '2026',
  status: 'deprecated',
} as const;

const ROWS: Row[] = [
  { ...DEEPSEEK, id: 'deepseek-flash', rates: FLASH_RATES, terms: { peak: DEEPSEEK_PEAK } },
  {
    ...DEEPSEEK,
    id: 'deepseek-v4-pro',
    rates: { input: '0.66', output: '1.98', cached_read: '0.022' },
    terms: { peak: DEEPSEEK_PEAK },
  },
  // A legacy name, answered by Flash and billed by the provider at the Flash price.
  {
    ...DEEPSEEK,
    id: 'deepseek-v4-flash',
    rates: FLASH_RATES,
    terms: { peak: DEEPSEEK_PEAK },
    status: 'deprecated',
  },
  {
    id: 'mistral-large-2512',
    family: 'mistral-large',
    window: 262_144,
    rates: { input: '0.5', output: '1.5' },
  },
  {
    id: 'mistral-medium-3-5',
    family: 'mistral-medium',
    window: 262_144,
    rates: { input: '1.5', output: '7.5' },
  },
  {
    id: 'mistral-medium-latest',
    family: 'mistral-medium',
    window: 256_000,
    as_of: '2026-05-22',
    source: 'issue report',
    rates: { input: '1.5', output: '7.5' },
    before: { input: '0.4', output: '2' },
  },
  {
    id: 'mistral-small-2603',
    family: 'mistral-small',
    window: 256_000,
    as_of: '2026-07-02',
    source: 'models.dev',
    rates: { input: '0.15', output: '0.6' },
  },
  {
    id: 'codestral-2508',
    family: 'codestral',
    window: 256_000,
    rates: { input: '0.3', output: '0.9' },
  },
  {
    id: 'devstral-2512',
    family: 'devstral',
    window: 256_000,
    rates: { input: '0.4', output: '2' },
  },
  {
    id: 'magistral-medium-2509',
    family: 'magistral',
    window: 40_000,
    rates: { input: '2', output: '5' },
  },
  {
    id: 'ministral-8b-2512',
    family: 'ministral',
    window: 262_144,
    rates: { input: '0.15', output: '0.15' },
  },
  {
    id: 'openai/gpt-oss-120b',
    family: 'gpt-oss',
    window: 131_072,
    rates: { input: '0.15', output: '0.6', cached_read: '0.075' },
  },
  {
    id: 'openai/gpt-oss-20b',
    family: 'gpt-oss',
    window: 131_072,
    rates: { input: '0.075', output: '0.3', cached_read: '0.0375' },
  },
  {
    id: 'llama-3.3-70b-versatile',
    family: 'llama-3.3',
    window: 128_000,
    rates: { input: '0.59', output: '0.79' },
  },
  {
    id: 'llama-3.1-8b-instant',
    family: 'llama-3.1',
    window: 128_000,
    rates: { input: '0.05', output: '0.08' },
  },
  {
    id: 'qwen/qwen3-32b',
    family: 'qwen3',
    window: 131_000,
    rates: { input: '0.29', output: '0.59' },
  },
  {
    ...SONAR,
    id: 'sonar',
    window: 128_000,
    rates: { input: '1', output: '1' },
    terms: requestFees('5', '8', '12'),
  },
  {
    ...SONAR,
    id: 'sonar-pro',
    window: 200_000,
    rates: { input: '3', output: '15' },
    terms: requestFees('6', '10', '14'),
  },
  {
    ...SONAR,
    id: 'sonar-reasoning-pro',
    window: 128_000,
    rates: { input: '2', output: '8' },
    terms: requestFees('6', '10', '14'),
  },
  {
    ...SONAR,
    id: 'sonar-deep-research',
    window: 128_000,
    rates: { input: '2', output: '8', citation: '2', reasoning: '3' },
    terms: { fees: { web_search: feePerThousandCalls('5') } },
  },
];

export const PROV_D_MODELS: readonly SeedModel[] = ROWS.map(compatibleModel);
