import { describe, expect, it } from 'vitest';
import type { StatedPrice, StatedRates } from './price-readings.ts';
import { flagsOf, hasLostModels, whyUnusable } from './pricing-candidates.ts';

const CURRENT = {
  pricing_input_per_mtok: '1',
  pricing_output_per_mtok: '10',
  pricing_cached_per_mtok: '0.1',
};
const stated = (rates: StatedRates, currency = 'USD'): StatedPrice => ({
  provider: 'prov_a',
  model_id: 'm',
  model_family: null,
  context_window: null,
  rates,
  currency,
  excerpt: '',
});

const longOf = (rates: StatedRates) => ({ threshold_tokens: 200_000, rates });

describe('a stated price', () => {
  it.each<[string, StatedRates, string[] | null]>([
    ['as ours is no candidate', { input: '1.0', output: '10', cached_read: '0.1' }, null],
    ['that states less than ours is none either', { input: '1', output: '10' }, null],
    ['that spells out what we fall back to is none', { input: '1', output: '10', cache_write_5m: '1' }, null],
    ['that differs is one', { input: '2', output: '10' }, []],
    ['of exactly ten times is plausible', { input: '10', output: '10' }, []],
    ['of more than ten times is flagged', { input: '10.000001', output: '10' }, ['jump_over_10x']],
    ['of less than a tenth is flagged', { input: '0.099999', output: '10' }, ['jump_over_10x']],
    ['of zero is flagged', { input: '0', output: '10' }, ['zero']],
    ['below zero is flagged', { input: '-1', output: '10' }, ['negative']],
  ])('%s', (_what, rates, flags) => {
    expect(flagsOf(stated(rates), CURRENT)).toEqual(flags);
  });

  it.each<[string, StatedPrice['long_context'], object | undefined, string[] | null]>([
    ['as ours', { threshold_tokens: 200_000, rates: { input: '2' } }, { input: '2' }, null],
    [
      'that ours has no rate for is compared with the plain one',
      longOf({ cached_read: '0.1' }),
      { input: '2' },
      null,
    ],
    ['dearer than ours', longOf({ input: '3' }), { input: '2' }, []],
    ['much dearer than ours', longOf({ input: '30' }), { input: '2' }, ['jump_over_10x']],
    ['from another size on', { threshold_tokens: 128_000, rates: { input: '2' } }, { input: '2' }, []],
    ['that ours does not have', longOf({ input: '2' }), undefined, []],
  ])('of long prompts %s', (_what, long_context, ours, flags) => {
    const current = {
      ...CURRENT,
      ...(ours && { long_context: { threshold_tokens: 200_000, pricing_input_per_mtok: '2' } }),
    };
    expect(
      flagsOf({ ...stated({ input: '1', output: '10' }), long_context: long_context! }, current),
    ).toEqual(flags);
  });

  it('in another currency is always shown and never usable', () => {
    const flags = flagsOf(stated({ input: '1', output: '10' }, '€'), CURRENT)!;
    expect(flags).toEqual(['currency_not_usd']);
    expect(whyUnusable(flags)).not.toBeNull();
    expect(whyUnusable(['jump_over_10x', 'zero'])).toBeNull();
  });

  it('of a model without a price is new', () => {
    expect(flagsOf(stated({ input: '1', output: '10' }), null)).toEqual(['new_model']);
  });

  it('that changes a model with long-context rates says that those stay', () => {
    const long = { ...CURRENT, long_context: { threshold_tokens: 1, pricing_input_per_mtok: '2' } };
    expect(flagsOf(stated({ input: '1.5', output: '10' }), long)).toEqual(['long_context_unchanged']);
  });
});

it('a source has lost its models when fewer than half are left', () => {
  expect(hasLostModels(['a', 'b', 'c', 'd'], new Set(['a', 'b']))).toBe(false);
  expect(hasLostModels(['a', 'b', 'c', 'd'], new Set(['a', 'x', 'y']))).toBe(true);
  expect(hasLostModels([], new Set())).toBe(false);
});
