import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePrice, priceToJson } from './price-json.ts';
import { TOKEN_BUCKETS } from './usage.ts';

const REQUIRED = { pricing_input_per_mtok: 1, pricing_output_per_mtok: 2 };

const scaled = (max: bigint) => fc.bigInt({ min: 0n, max });
const rate = scaled(1_000_000_000_000n);
const multiplier = scaled(100_000_000n);
const optionalRates = fc.dictionary(fc.constantFrom(...TOKEN_BUCKETS), rate);
const prices = fc.record(
  {
    rates: fc
      .tuple(rate, rate, optionalRates)
      .map(([input, output, others]) => ({ ...others, input, output })),
    tier_multipliers: fc.dictionary(fc.constantFrom('flex', 'priority', 'batch', 'fast'), multiplier),
    region_multipliers: fc.dictionary(fc.constantFrom('us', 'eu', 'ap-south-1'), multiplier),
    fees: fc.dictionary(
      fc.constantFrom('web_search', 'request_low', 'request_medium', 'request_high'),
      rate.map((value) => value * 1000n),
    ),
    long_context: fc.record({
      threshold_tokens: fc.integer({ min: 1, max: 1_000_000_000 }),
      rates: optionalRates,
    }),
    per_second: rate,
    peak: fc.record({
      multiplier,
      utc_windows: fc.array(
        fc.integer({ min: 0, max: 1439 }).map((from) => ({ from_minute: from, to_minute: from + 1 })),
        { minLength: 1, maxLength: 24 },
      ),
      weekdays_only: fc.boolean(),
      except_dates: fc.array(fc.constantFrom('2026-01-01', '2028-02-29')),
    }),
  },
  { requiredKeys: ['rates', 'tier_multipliers', 'region_multipliers', 'fees'] },
);

describe('the stored form of a price', () => {
  it('comes back exactly, through JSON text too', () => {
    fc.assert(
      fc.property(prices, (price) => {
        const stored: unknown = JSON.parse(JSON.stringify(priceToJson(price)));
        // Plain equality: dictionaries may come with a null prototype, which is no difference here.
        expect(parsePrice(stored)).toEqual(price);
      }),
    );
  });

  it('keeps six places of a JSON number that doubles cannot hold', () => {
    const price = parsePrice({
      ...REQUIRED,
      pricing_cached_per_mtok: 0.07,
      pricing_output_per_mtok: 0.000001,
    });
    expect(price).toMatchObject({ rates: { input: 1_000_000n, output: 1n, cached_read: 70_000n } });
  });

  it('reads null as absent', () => {
    expect(parsePrice({ ...REQUIRED, pricing_cached_per_mtok: null, fees: null, peak: null })).toEqual(
      parsePrice(REQUIRED),
    );
  });

  it('writes amounts as the shortest decimal text', () => {
    const price = parsePrice({
      ...REQUIRED,
      fees: { web_search_per_1k_usd: '10.50' },
      tier_multipliers: { flex: 0.5 },
    });
    if ('problem' in price) throw new Error(price.problem);
    expect(priceToJson(price)).toEqual({
      pricing_input_per_mtok: '1',
      pricing_output_per_mtok: '2',
      tier_multipliers: { flex: '0.5' },
      region_multipliers: {},
      fees: { web_search_per_1k_usd: '10.5' },
    });
  });
});

describe('a price is refused by field when', () => {
  const peak = { multiplier: 2, utc_windows: [{ from: '01:00', to: '04:00' }] };
  it.each<[string, unknown, string]>([
    ['it is no object', 'free', 'price'],
    ['it is an array', [], 'price'],
    ['it has no input rate', { pricing_output_per_mtok: 1 }, 'pricing_input_per_mtok'],
    ['it has no output rate', { pricing_input_per_mtok: 1 }, 'pricing_output_per_mtok'],
    ['a rate is negative', { ...REQUIRED, pricing_input_per_mtok: -1 }, 'pricing_input_per_mtok'],
    ['a rate is NaN', { ...REQUIRED, pricing_input_per_mtok: Number.NaN }, 'pricing_input_per_mtok'],
    ['a rate is infinite', { ...REQUIRED, pricing_input_per_mtok: Infinity }, 'pricing_input_per_mtok'],
    [
      'a rate has seven places',
      { ...REQUIRED, pricing_input_per_mtok: '0.0000001' },
      'pricing_input_per_mtok',
    ],
    ['a number has seven places', { ...REQUIRED, pricing_input_per_mtok: 1e-7 }, 'pricing_input_per_mtok'],
    ['a rate is absurd', { ...REQUIRED, pricing_input_per_mtok: 1_000_000.01 }, 'pricing_input_per_mtok'],
    ['a rate is an exponent', { ...REQUIRED, pricing_input_per_mtok: '1e3' }, 'pricing_input_per_mtok'],
    ['a rate is blank', { ...REQUIRED, pricing_input_per_mtok: '' }, 'pricing_input_per_mtok'],
    ['a rate is true', { ...REQUIRED, pricing_input_per_mtok: true }, 'pricing_input_per_mtok'],
    ['a field is unknown', { ...REQUIRED, pricing_cahced_per_mtok: 1 }, 'pricing_cahced_per_mtok'],
    ['a nested field is unknown', { ...REQUIRED, fees: { search: 1 } }, 'fees.search'],
    ['a tier is unknown', { ...REQUIRED, tier_multipliers: { turbo: 2 } }, 'tier_multipliers.turbo'],
    ['a multiplier is absurd', { ...REQUIRED, tier_multipliers: { flex: 101 } }, 'tier_multipliers.flex'],
    [
      'a region has a strange name',
      { ...REQUIRED, region_multipliers: { 'US!': 1 } },
      'region_multipliers.US!',
    ],
    [
      'a region is __proto__',
      JSON.parse(
        '{"pricing_input_per_mtok":1,"pricing_output_per_mtok":1,"region_multipliers":{"__proto__":1}}',
      ),
      'region_multipliers.__proto__',
    ],
    ['the threshold is missing', { ...REQUIRED, long_context: {} }, 'long_context.threshold_tokens'],
    [
      'the threshold is a text',
      { ...REQUIRED, long_context: { threshold_tokens: '9' } },
      'long_context.threshold_tokens',
    ],
    [
      'the threshold is zero',
      { ...REQUIRED, long_context: { threshold_tokens: 0 } },
      'long_context.threshold_tokens',
    ],
    ['peak has no multiplier', { ...REQUIRED, peak: { utc_windows: peak.utc_windows } }, 'peak.multiplier'],
    ['peak has no windows', { ...REQUIRED, peak: { multiplier: 2 } }, 'peak.utc_windows'],
    [
      'a window is reversed',
      { ...REQUIRED, peak: { ...peak, utc_windows: [{ from: '04:00', to: '01:00' }] } },
      'peak.utc_windows.0',
    ],
    [
      'a window has no such hour',
      { ...REQUIRED, peak: { ...peak, utc_windows: [{ from: '01:00', to: '25:00' }] } },
      'peak.utc_windows.0',
    ],
    [
      'a date does not exist',
      { ...REQUIRED, peak: { ...peak, except_dates: ['2026-02-30'] } },
      'peak.except_dates',
    ],
    [
      'weekdays_only is a text',
      { ...REQUIRED, peak: { ...peak, weekdays_only: 'yes' } },
      'peak.weekdays_only',
    ],
  ])('%s', (_when, json, field) => {
    expect(parsePrice(json)).toMatchObject({ field, problem: expect.any(String) });
  });

  it('it holds anything at all, without a fault', () => {
    fc.assert(
      fc.property(fc.anything(), (json) => {
        const result = parsePrice(json);
        if (!('problem' in result)) expect(result.rates.input).toBeTypeOf('bigint');
      }),
    );
  });
});
