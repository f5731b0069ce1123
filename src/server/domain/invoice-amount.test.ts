import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatPicodollars, type Mark, readAmount } from './invoice-amount.ts';

const read = (text: string, usual: Mark = '.') => {
  const reading = readAmount(text, usual);
  return reading.kind === 'amount' ? formatPicodollars(reading.picodollars) : reading.kind;
};

describe('an amount on an invoice', () => {
  it.each([
    ['12.34', '12.340000'],
    ['$1,234.56', '1234.560000'],
    ['US$ 1,234.56', '1234.560000'],
    ['1234.56 USD', '1234.560000'],
    ['1.234,56', '1234.560000'],
    ['1 234,56', '1234.560000'],
    ["1'234'567.8", '1234567.800000'],
    ['1,234,567', '1234567.000000'],
    ['1,234', '1234.000000'],
    ['0.895', '0.895000'],
    ['0,895', '0.895000'],
    ['12,5', '12.500000'],
    ['(12.34)', '-12.340000'],
    ['($12.34)', '-12.340000'],
    ['-$12.34', '-12.340000'],
    ['$-12.34', '-12.340000'],
    ['12.34-', '-12.340000'],
    ['12.34CR', '-12.340000'],
    ['−0.5', '-0.500000'],
    ['.5', '0.500000'],
    ['0.8958740000000000', '0.895874'],
    ['0.000000450000', '0.00000045'],
    ['2.7300000000000003e-05', '0.0000273'],
    ['0E-6176', '0.000000'],
    ['1e3', '1000.000000'],
  ])('%s is read as %s', (text, dollars) => {
    expect(read(text)).toBe(dollars);
  });

  it.each(['', ' ', '-', 'N/A', 'null'])('“%s” is no amount, and no mistake', (text) => {
    expect(read(text)).toBe('empty');
  });

  it.each(['abc', '1.2.3', '1,23,4.5', '€12', '12 EUR', '¥5', '--5', '(-5)', '1e99', '12.34.56,7'])(
    '“%s” is refused and never guessed',
    (text) => {
      expect(read(text)).toBe('problem');
    },
  );

  it('is read by the decimal mark of its file where it does not show its own', () => {
    expect(read('1,234', ',')).toBe('1.234000');
    expect(read('1.234', ',')).toBe('1234.000000');
  });

  it('comes back as it was, in every way of writing it', () => {
    const amounts = fc.bigInt({ min: -(10n ** 21n), max: 10n ** 21n });
    fc.assert(
      fc.property(amounts, (picodollars) => {
        const text = formatPicodollars(picodollars);
        const [whole = '', fraction = ''] = text.replace('-', '').split('.');
        const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
        for (const written of [
          text,
          `${picodollars < 0n ? '(' : ''}$${grouped}.${fraction}${picodollars < 0n ? ')' : ''}`,
          `${picodollars < 0n ? '-' : ''}${grouped.replaceAll(',', '.')},${fraction}`,
        ]) {
          const reading = readAmount(written, written.includes(',') ? ',' : '.');
          expect(reading.kind === 'amount' && reading.picodollars).toBe(picodollars);
        }
      }),
    );
  });
});
