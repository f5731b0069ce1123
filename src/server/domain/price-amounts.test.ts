import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountsIn, decimalOfNumber, shiftDecimal, unitOf } from './price-amounts.ts';

describe('amounts in a text', () => {
  it.each<[string, Array<[string, string | null]> | null]>([
    ['$1.25', [['1.25', 'USD']]],
    ['$5 / MTok', [['5', 'USD']]],
    [
      '$1.25 / $10.00',
      [
        ['1.25', 'USD'],
        ['10.00', 'USD'],
      ],
    ],
    ['US$ 0.50 per 1K tokens', [['0.50', 'USD']]],
    ['0.50 USD', [['0.50', 'USD']]],
    ['€1.10', [['1.10', '€']]],
    ['CA$2', [['2', 'CA$']]],
    ['¥8', [['8', '¥']]],
    ['-$3.00', [['-3.00', 'USD']]],
    ['$-3.00', [['-3.00', 'USD']]],
    ['$1,250.00', [['1250.00', 'USD']]],
    ['1.25', [['1.25', null]]],
    ['Free', []],
    ['—', []],
    ['128K', []],
    ['$1,25', null],
    ['$1.250,00', null],
  ])('of "%s" are %j', (text, expected) => {
    const found = amountsIn(text);
    expect(found?.map((amount) => [amount.decimal, amount.currency]) ?? null).toEqual(expected);
  });
});

describe('the unit of a text', () => {
  it.each([
    ['Prices per 1M tokens', 0],
    ['$5 / MTok', 0],
    ['per million tokens', 0],
    ['USD per 1,000,000 tokens', 0],
    ['$/1M', 0],
    ['$0.50 per 1K tokens', 3],
    ['/ 1,000 tokens', 3],
    ['per thousand', 3],
    ['$0.000001 per token', 6],
    ['$1.25', null],
    ['a 1M context window', null],
    ['per 1M tokens, or $0.001 per 1K tokens', null],
    ['per minute', null],
    ['per month', null],
  ])('"%s" is %j', (text, shift) => {
    expect(unitOf(text)).toBe(shift);
  });
});

describe('shifting a decimal', () => {
  it.each([
    ['0.5', 3, '500'],
    ['1.25', 0, '1.25'],
    ['0.00000125', 6, '1.25'],
    ['1.25e-6', 6, '1.25'],
    ['-0.001', 3, '-1'],
    ['0', 6, '0'],
    ['0.0000001', 0, null],
    ['one', 0, null],
  ])('%s by %i is %s', (text, places, expected) => {
    expect(shiftDecimal(text, places)).toBe(expected);
  });

  it('is exact for every price per token that a double can carry', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000_000 }), (picodollars) => {
        const perToken = picodollars / 1e12;
        const perMillion = shiftDecimal(String(picodollars), -6);
        expect(decimalOfNumber(perToken, 6)).toBe(perMillion);
      }),
    );
  });

  it('takes away the dust of arithmetic on doubles', () => {
    expect(decimalOfNumber(0.1 * 3e-6, 6)).toBe('0.3');
  });
});
