import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePrice } from './price-json.ts';
import { costOf, isPeak, type Price } from './pricing.ts';
import { emptyUsage, type ServedTerms, TOKEN_BUCKETS, type TokenBucket, type Usage } from './usage.ts';

const STANDARD: ServedTerms = { tier: null, region: null };
const AT = Date.UTC(2026, 10, 14, 12);

function price(json: Record<string, unknown>): Price {
  const parsed = parsePrice({ pricing_input_per_mtok: 0, pricing_output_per_mtok: 0, ...json });
  if ('problem' in parsed) throw new Error(`${parsed.field} ${parsed.problem}`);
  return parsed;
}

function usage(counts: Partial<Usage>): Usage {
  return { ...emptyUsage(), ...counts };
}

/** A rational number: nothing of the scaled integers of the code under test. */
type Fraction = readonly [bigint, bigint];
function fraction(text: string): Fraction {
  const [whole = '', decimals = ''] = text.split('.');
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
}
const add = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d];
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];
function roundHalfUp([a, b]: Fraction): bigint {
  const quotient = a / b;
  return (a % b) * 2n >= b ? quotient + 1n : quotient;
}

const BUCKET_FIELDS: Record<TokenBucket, string> = {
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
const FALLBACKS: Record<TokenBucket, readonly TokenBucket[]> = {
  input: ['input'],
  output: ['output'],
  cached_read: ['cached_read', 'input'],
  cache_write_5m: ['cache_write_5m', 'input'],
  cache_write_1h: ['cache_write_1h', 'cache_write_5m', 'input'],
  audio_input: ['audio_input', 'input'],
  image_input: ['image_input', 'input'],
  reasoning: ['reasoning', 'output'],
  audio_output: ['audio_output', 'output'],
  image_output: ['image_output', 'output'],
  citation: ['citation', 'output'],
};

const amountText = fc
  .tuple(fc.nat({ max: 999 }), fc.nat({ max: 999_999 }), fc.nat({ max: 6 }))
  .map(([whole, decimals, places]) =>
    places === 0 ? `${whole}` : `${whole}.${String(decimals).padStart(6, '0').slice(0, places)}`,
  );
const rateTexts = fc
  .tuple(amountText, amountText, fc.dictionary(fc.constantFrom(...TOKEN_BUCKETS), amountText))
  .map(([input, output, others]) => ({ ...others, input, output }) as Partial<Record<TokenBucket, string>>);
const countOf = (max: number) => fc.oneof(fc.nat({ max: 20 }), fc.nat({ max }));
const usages = fc
  .record({
    counts: fc.array(countOf(2_000_000), {
      minLength: TOKEN_BUCKETS.length,
      maxLength: TOKEN_BUCKETS.length,
    }),
    audio_milliseconds: countOf(10_000_000),
    web_searches: countOf(1000),
    search_context: fc.constantFrom('low' as const, 'medium' as const, 'high' as const, null),
  })
  .map(({ counts, ...others }) =>
    usage({
      ...Object.fromEntries(TOKEN_BUCKETS.map((bucket, index) => [bucket, counts[index]!])),
      ...others,
    }),
  );
const scenarios = fc.record({
  rates: rateTexts,
  long: fc.option(fc.record({ threshold: fc.integer({ min: 1, max: 5_000_000 }), rates: rateTexts }), {
    nil: null,
  }),
  tier: fc.constantFrom('flex' as const, 'priority' as const, 'batch' as const, 'fast' as const, null),
  tierMultiplier: fc.constantFrom('0.5', '1.75', '2', '2.5', '1.666667', '0'),
  regionMultiplier: fc.constantFrom('1.1', '1', '0.999999'),
  perSecond: amountText,
  searchFee: amountText,
  requestFee: amountText,
  usage: usages,
});
type Scenario = typeof scenarios extends fc.Arbitrary<infer T> ? T : never;

function ratesJson(texts: Partial<Record<TokenBucket, string>>): Record<string, string> {
  return Object.fromEntries(
    TOKEN_BUCKETS.flatMap((b) => (texts[b] === undefined ? [] : [[BUCKET_FIELDS[b], texts[b]]])),
  );
}

function priceFor(scenario: Scenario): Price {
  return price({
    ...ratesJson(scenario.rates),
    ...(scenario.long && {
      long_context: { threshold_tokens: scenario.long.threshold, ...ratesJson(scenario.long.rates) },
    }),
    ...(scenario.tier && { tier_multipliers: { [scenario.tier]: scenario.tierMultiplier } }),
    region_multipliers: { us: scenario.regionMultiplier },
    pricing_per_second_microdollars: scenario.perSecond,
    fees: { web_search_per_1k_usd: scenario.searchFee, request_medium_per_1k_usd: scenario.requestFee },
  });
}

/** The cost in microdollars by schoolbook fractions. */
function oracle(scenario: Scenario): Fraction {
  const { usage: counts, long } = scenario;
  const inputs = [
    'input',
    'cached_read',
    'cache_write_5m',
    'cache_write_1h',
    'audio_input',
    'image_input',
  ] as const;
  const isLong = long !== null && inputs.reduce((sum, bucket) => sum + counts[bucket], 0) > long.threshold;
  const rates = isLong ? { ...scenario.rates, ...long.rates } : scenario.rates;
  let total: Fraction = [0n, 1n];
  for (const bucket of TOKEN_BUCKETS) {
    const source = FALLBACKS[bucket].find((candidate) => rates[candidate] !== undefined)!;
    total = add(total, times([BigInt(counts[bucket]), 1n], fraction(rates[source]!)));
  }
  total = add(total, times([BigInt(counts.audio_milliseconds), 1000n], fraction(scenario.perSecond)));
  if (scenario.tier) total = times(total, fraction(scenario.tierMultiplier));
  total = times(total, fraction(scenario.regionMultiplier));
  total = add(total, times([BigInt(counts.web_searches) * 1000n, 1n], fraction(scenario.searchFee)));
  if (counts.search_context === 'medium')
    total = add(total, times([1000n, 1n], fraction(scenario.requestFee)));
  return total;
}

describe('costOf, for any price and usage', () => {
  it('is the exact sum rounded half up once, as schoolbook fractions have it', () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const cost = costOf(priceFor(scenario), scenario.usage, { tier: scenario.tier, region: 'us' }, AT);
        expect(BigInt(cost.microdollars)).toBe(roundHalfUp(oracle(scenario)));
        expect(cost.clamped).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('has a breakdown that adds up to the unrounded total', () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const cost = costOf(priceFor(scenario), scenario.usage, { tier: scenario.tier, region: 'us' }, AT);
        const sum = cost.breakdown.reduce<Fraction>(
          (total, line) => add(total, fraction(line.cost_usd)),
          [0n, 1n],
        );
        const [a, b] = times(sum, [1_000_000n, 1n]);
        const [c, d] = oracle(scenario);
        expect(a * d).toBe(c * b);
      }),
    );
  });

  it('has lines whose quantity times rate is their cost', () => {
    const perUnit = { tokens: 1_000_000n, calls: 1n, seconds: 1n };
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const cost = costOf(priceFor(scenario), scenario.usage, { tier: scenario.tier, region: 'us' }, AT);
        for (const line of cost.breakdown) {
          const [a, b] = times(fraction(String(line.quantity)), fraction(line.rate_usd));
          const [c, d] = fraction(line.cost_usd);
          expect(a * d).toBe(c * b * perUnit[line.unit]);
        }
      }),
    );
  });

  it('never falls when a token is added without crossing a threshold', () => {
    fc.assert(
      fc.property(
        scenarios,
        fc.constantFrom(...TOKEN_BUCKETS),
        fc.nat({ max: 1000 }),
        (scenario, bucket, more) => {
          const { long_context: _dropped, ...flat } = priceFor(scenario);
          const terms: ServedTerms = { tier: scenario.tier, region: null };
          const before = costOf(flat, scenario.usage, terms, AT).microdollars;
          const grown = { ...scenario.usage, [bucket]: scenario.usage[bucket] + more };
          expect(costOf(flat, grown, terms, AT).microdollars).toBeGreaterThanOrEqual(before);
        },
      ),
    );
  });

  it('is a safe non-negative integer whatever the counts are, and says when it had to bound them', () => {
    const hostile = fc.oneof(
      fc.double(),
      fc.constantFrom(-1, Number.NaN, Number.POSITIVE_INFINITY, 1e308, 2 ** 53, 0.5),
    );
    fc.assert(
      fc.property(scenarios, fc.constantFrom(...TOKEN_BUCKETS), hostile, (scenario, bucket, count) => {
        const cost = costOf(priceFor(scenario), { ...scenario.usage, [bucket]: count }, STANDARD, AT);
        expect(Number.isSafeInteger(cost.microdollars)).toBe(true);
        expect(cost.microdollars).toBeGreaterThanOrEqual(0);
        if (!Number.isSafeInteger(count) || count < 0) expect(cost.clamped).toBe(true);
      }),
    );
  });
});

describe('costOf, figure by figure', () => {
  it('rounds half up once on the request, not per bucket and not in doubles', () => {
    const mini = price({ pricing_input_per_mtok: 0.15, pricing_output_per_mtok: 0.6 });
    const cost = costOf(mini, usage({ input: 218, output: 13 }), STANDARD, AT);
    expect(cost).toEqual({
      microdollars: 41,
      clamped: false,
      unpriced: [],
      breakdown: [
        { bucket: 'input', quantity: 218, unit: 'tokens', rate_usd: '0.15', cost_usd: '0.0000327' },
        { bucket: 'output', quantity: 13, unit: 'tokens', rate_usd: '0.6', cost_usd: '0.0000078' },
      ],
    });
  });

  it('clamps a total beyond the largest safe integer and reports it', () => {
    const dear = price({ pricing_input_per_mtok: '1000000', pricing_output_per_mtok: '1000000' });
    const cost = costOf(dear, usage({ input: Number.MAX_SAFE_INTEGER }), STANDARD, AT);
    expect(cost).toMatchObject({ microdollars: Number.MAX_SAFE_INTEGER, clamped: true });
    const most = costOf(
      price({ pricing_input_per_mtok: 1 }),
      usage({ input: Number.MAX_SAFE_INTEGER }),
      STANDARD,
      AT,
    );
    expect(most).toMatchObject({ microdollars: Number.MAX_SAFE_INTEGER, clamped: false });
  });

  it('re-prices the whole request above the threshold and nothing at it', () => {
    const pro = price({
      pricing_input_per_mtok: 1.25,
      pricing_output_per_mtok: 10,
      pricing_cached_per_mtok: 0.125,
      long_context: {
        threshold_tokens: 200_000,
        pricing_input_per_mtok: 2.5,
        pricing_output_per_mtok: 15,
        pricing_cached_per_mtok: 0.25,
      },
    });
    const at = usage({ input: 150_000, cached_read: 50_000, output: 100 });
    expect(costOf(pro, at, STANDARD, AT).microdollars).toBe(187_500 + 6_250 + 1_000);
    const above = { ...at, cached_read: 50_001 };
    expect(costOf(pro, above, STANDARD, AT).microdollars).toBe(375_000 + 12_500 + 1_500);
  });

  it('keeps a rate the long-context tier does not state', () => {
    const model = price({
      pricing_input_per_mtok: 1,
      pricing_cached_per_mtok: 0.5,
      long_context: { threshold_tokens: 10, pricing_input_per_mtok: 2 },
    });
    expect(costOf(model, usage({ input: 10, cached_read: 10 }), STANDARD, AT).microdollars).toBe(25);
  });

  it('multiplies rates by the served tier, region and hour together, and fees by none of them', () => {
    const model = price({
      pricing_input_per_mtok: 1,
      tier_multipliers: { fast: 2 },
      region_multipliers: { us: 1.1 },
      peak: { multiplier: 2, utc_windows: [{ from: '12:00', to: '13:00' }] },
      fees: { web_search_per_1k_usd: 10 },
    });
    const cost = costOf(model, usage({ input: 1000, web_searches: 3 }), { tier: 'fast', region: 'us' }, AT);
    expect(cost.microdollars).toBe(4400 + 30_000);
    expect(cost.breakdown.map((line) => line.rate_usd)).toEqual(['4.4', '0.01']);
  });

  it('bills a tier without a multiplier as standard and says so', () => {
    const cost = costOf(
      price({ pricing_input_per_mtok: 1 }),
      usage({ input: 5 }),
      { tier: 'priority', region: null },
      AT,
    );
    expect(cost).toMatchObject({ microdollars: 5, unpriced: ['tier:priority'] });
  });

  it('bills audio by the second, and says when the price cannot', () => {
    const spoken = usage({ audio_milliseconds: 90_500 });
    const whisper = price({ pricing_per_second_microdollars: 100 });
    const cost = costOf(whisper, spoken, STANDARD, AT);
    expect(cost.microdollars).toBe(9050);
    expect(cost.breakdown).toEqual([
      { bucket: 'audio_seconds', quantity: 90.5, unit: 'seconds', rate_usd: '0.0001', cost_usd: '0.00905' },
    ]);
    expect(costOf(price({}), spoken, STANDARD, AT)).toMatchObject({
      microdollars: 0,
      unpriced: ['audio_seconds'],
    });
  });

  it('does not take a region named like a property of every object for a multiplier', () => {
    for (const region of ['constructor', '__proto__', 'toString', 'global']) {
      const cost = costOf(
        price({ pricing_input_per_mtok: 1 }),
        usage({ input: 5 }),
        { tier: null, region },
        AT,
      );
      expect(cost.microdollars).toBe(5);
    }
  });
});

describe('isPeak', () => {
  const parsed = price({
    peak: {
      multiplier: 2,
      utc_windows: [
        { from: '01:00', to: '04:00' },
        { from: '06:00', to: '10:00' },
      ],
      weekdays_only: true,
      except_dates: ['2026-10-01'],
    },
  });
  const peak = parsed.peak!;
  it.each([
    ['2026-11-13T00:59:59.999Z', false],
    ['2026-11-13T01:00:00.000Z', true],
    ['2026-11-13T03:59:59.999Z', true],
    ['2026-11-13T04:00:00.000Z', false],
    ['2026-11-13T06:00:00.000Z', true],
    ['2026-11-13T10:00:00.000Z', false],
    ['2026-11-14T02:00:00.000Z', false],
    ['2026-11-15T02:00:00.000Z', false],
    ['2026-10-01T02:00:00.000Z', false],
    ['2026-10-08T02:00:00.000Z', true],
  ])('at %s is %s: windows are open at the end, weekends and holidays have none', (at, expected) => {
    expect(isPeak(peak, Date.parse(at))).toBe(expected);
  });
});
