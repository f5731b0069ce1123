import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  FEE_NAMES,
  type PricedModel,
  partAt,
  priceChanges,
  priceTexts,
  RATE_NAMES,
  TIERS,
} from './price-form.ts';

const rate = fc.integer({ min: 0, max: 10_000_000 }).map((millionths) => millionths / 1_000_000);
const some = (names: readonly string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, rate])), { requiredKeys: [] });
const filled = (names: readonly string[]) => some(names).filter((made) => Object.keys(made).length > 0);
const clock = fc.constantFrom('00:00', '08:30', '16:00');
const price = fc
  .record(
    {
      rates: some(RATE_NAMES),
      pricing_per_second_microdollars: rate,
      long_context: fc
        .record({ threshold_tokens: fc.integer({ min: 1, max: 1_000_000 }), rates: some(RATE_NAMES) })
        .map(({ threshold_tokens, rates }) => ({ threshold_tokens, ...rates })),
      tier_multipliers: filled(TIERS),
      region_multipliers: fc.dictionary(fc.constantFrom('us', 'eu', 'ap-south-1'), rate, { minKeys: 1 }),
      fees: filled(FEE_NAMES),
      peak: fc.record(
        {
          multiplier: rate,
          utc_windows: fc.array(fc.record({ from: clock, to: clock }), { minLength: 1, maxLength: 3 }),
          weekdays_only: fc.constant(true),
          except_dates: fc.array(fc.constantFrom('2026-12-25', '2027-01-01'), { minLength: 1, maxLength: 2 }),
        },
        { requiredKeys: ['multiplier', 'utc_windows'] },
      ),
    },
    { requiredKeys: [] },
  )
  .map(({ rates, ...parts }) => ({ ...rates, ...parts }) as unknown as PricedModel);

test('a form nobody touched changes nothing', () => {
  fc.assert(
    fc.property(price, (model) => {
      expect(priceChanges(priceTexts(model), model)).toEqual({});
    }),
  );
});

test('filled in for a new model, the form says the whole price', () => {
  fc.assert(
    fc.property(price, (model) => {
      expect(priceChanges(priceTexts(model), null)).toEqual(model);
    }),
  );
});

test('emptied, the form takes away every part there was', () => {
  fc.assert(
    fc.property(price, (model) => {
      const gone = Object.fromEntries(Object.keys(model).map((part) => [part, null]));
      expect(priceChanges({}, model)).toEqual(gone);
    }),
  );
});

test('one changed rate is the only thing that is sent', () => {
  fc.assert(
    fc.property(price, (model) => {
      const texts = { ...priceTexts(model), pricing_output_per_mtok: '12.345678' };
      expect(priceChanges(texts, model)).toEqual({ pricing_output_per_mtok: 12.345678 });
    }),
  );
});

test('a path leads to a part inside another, or to nothing', () => {
  const price = { pricing_input_per_mtok: 1, long_context: { threshold_tokens: 200_000 } };
  expect(partAt(price, 'pricing_input_per_mtok')).toBe(1);
  expect(partAt(price, 'long_context.threshold_tokens')).toBe(200_000);
  expect(partAt(price, 'fees.web_search_per_1k_usd')).toBeUndefined();
  expect(partAt(null, 'long_context.threshold_tokens')).toBeUndefined();
});
