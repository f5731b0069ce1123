import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparePrices, describePriceChange, estimateMonthlyEffect } from './price-changes.ts';
import { parsePrice } from './price-json.ts';
import { costOf, type Price } from './pricing.ts';
import { emptyUsage } from './usage.ts';

function price(input: string, output: string, cached?: string): Price {
  const parsed = parsePrice({
    pricing_input_per_mtok: input,
    pricing_output_per_mtok: output,
    pricing_cached_per_mtok: cached,
  });
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed;
}

describe('the estimated monthly effect of a price change', () => {
  it('is the tokens of each kind times the difference of their rates', () => {
    const tokens = { tokens_input: 3_000_000, tokens_cached: 1_000_000, tokens_output: 500_000 };
    // 2,000,000 × 0.25 + 1,000,000 × 0.025 + 500,000 × 2
    expect(estimateMonthlyEffect(price('1.25', '10', '0.125'), price('1.5', '12', '0.15'), tokens)).toBe(
      1_525_000,
    );
  });

  it('is negative when the model became cheaper', () => {
    const tokens = { tokens_input: 1_000_000, tokens_cached: 0, tokens_output: 0 };
    expect(estimateMonthlyEffect(price('2', '8'), price('1', '8'), tokens)).toBe(-1_000_000);
  });

  it('is what the meter would charge one request of all these tokens more', () => {
    const amount = fc.integer({ min: 0, max: 2_000_000_000 });
    const rate = fc.integer({ min: 0, max: 200_000_000 }).map((micro) => (micro / 1e6).toFixed(6));
    fc.assert(
      fc.property(
        fc.tuple(rate, rate, rate),
        fc.tuple(rate, rate, rate),
        amount,
        amount,
        amount,
        (a, b, fresh, cached, output) => {
          const usage = { ...emptyUsage(), input: fresh, cached_read: cached, output };
          const cost = (at: Price) => costOf(at, usage, { tier: null, region: null }, 0).microdollars;
          const effect = estimateMonthlyEffect(price(...a), price(...b), {
            tokens_input: fresh + cached,
            tokens_cached: cached,
            tokens_output: output,
          });
          // Two roundings against one.
          expect(Math.abs(effect - (cost(price(...b)) - cost(price(...a))))).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

describe('the differences of two prices', () => {
  it('are named by their path, parts that only one of them has included', () => {
    const old = { pricing_input_per_mtok: '1', tier_multipliers: { batch: '0.5' }, fees: {} };
    const next = { pricing_input_per_mtok: '1', tier_multipliers: { batch: '0.4', flex: '0.5' }, fees: {} };
    expect(comparePrices(old, next)).toEqual([
      { field: 'tier_multipliers.batch', old: '0.5', new: '0.4' },
      { field: 'tier_multipliers.flex', old: null, new: '0.5' },
    ]);
  });

  it('are none between a price and itself', () => {
    const same = { pricing_input_per_mtok: '1', peak: { utc_windows: [{ from: '01:00', to: '02:00' }] } };
    expect(comparePrices(same, structuredClone(same))).toEqual([]);
  });
});

it('tells people old, new, when, and what it costs them', () => {
  const differences = comparePrices({ pricing_input_per_mtok: '1.25' }, { pricing_input_per_mtok: '1.5' });
  const change = { modelId: 'gpt-5', differences, effectiveAt: new Date('2026-12-01T00:00:00Z') };
  expect(describePriceChange({ ...change, monthlyEffectMicrodollars: 12_344_999 })).toBe(
    'gpt-5: input $1.25 → $1.5 per million tokens from 2026-12-01, about +$12.34 a month at your volume',
  );
  expect(describePriceChange({ ...change, monthlyEffectMicrodollars: -2_000_000 })).toContain('−$2.00');
  expect(describePriceChange({ ...change, monthlyEffectMicrodollars: 9_999 })).toContain(
    'less than a cent more a month',
  );
});
