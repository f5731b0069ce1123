import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { age, count, decimalsFor, dollars, duration, money, percent, rate, until } from './format.ts';

const NOW = Date.parse('2026-06-15T12:00:00Z');
const before = (ms: number) => new Date(NOW - ms).toISOString();
const MINUTE = 60_000;
const DAY = 86_400_000;

describe('money', () => {
  test.each([
    [0, '$0.00'],
    [12, '$0.000012'],
    [10_000, '$0.01'],
    [123_456, '$0.1235'],
    [1_234_567, '$1.23'],
    [999_999_999, '$1,000.00'],
    [1_234_567_890_000, '$1,234,567.89'],
    [-2_500_000, '-$2.50'],
    [-4, '-$0.000004'],
  ])('%i microdollars are %s', (microdollars, text) => {
    expect(money(microdollars)).toBe(text);
  });

  test('is off by at most half of its last place, and exact with six', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -9e15, max: 9e15 }),
        fc.constantFrom(2 as const, 4 as const, 6 as const),
        (microdollars, decimals) => {
          const shown = money(microdollars, decimals).replaceAll(',', '').replace('$', '');
          const [whole = '', fraction = ''] = shown.replace('-', '').split('.');
          const value = BigInt(whole + fraction.padEnd(6, '0')) * (shown.startsWith('-') ? -1n : 1n);
          const off = value - BigInt(microdollars);
          expect(2n * (off < 0n ? -off : off)).toBeLessThanOrEqual(
            decimals === 6 ? 0n : 10n ** BigInt(6 - decimals),
          );
        },
      ),
    );
  });

  test('has in a column as many decimals as its smallest amount needs', () => {
    expect(decimalsFor([5_000_000, 3])).toBe(6);
    expect(decimalsFor([5_000_000, 123_456])).toBe(4);
    expect(decimalsFor([5_000_000, 500_000])).toBe(2);
    expect(decimalsFor([0, 0])).toBe(2);
    expect(decimalsFor([])).toBe(2);
  });

  test('is read from the API’s texts, longer ones cut', () => {
    expect(dollars('-12.500000')).toBe('-$12.50');
    expect(dollars('0.000001999999')).toBe('$0.000001');
  });
});

test.each([
  [0, '0'],
  [9_999, '9,999'],
  [10_000, '10.0k'],
  [999_949, '999.9k'],
  [999_950, '1.0M'],
  [1_234_567_890, '1.2B'],
])('%i tokens are %s', (tokens, text) => {
  expect(count(tokens)).toBe(text);
});

test.each([
  [-5_000, 'just now'],
  [59_000, 'just now'],
  [MINUTE, '1m ago'],
  [119 * MINUTE, '1h ago'],
  [2 * DAY, '2d ago'],
  [30 * DAY, '2026-05-16'],
])('what was %i ms ago was %s', (ms, text) => {
  expect(age(before(ms), NOW)).toBe(text);
});

test.each([
  [0, 'now'],
  [1_000, 'in 1m'],
  [90 * MINUTE, 'in 1h'],
  [3 * DAY, 'in 3d'],
  [40 * DAY, 'on 2026-07-25'],
])('what will be in %i ms is %s', (ms, text) => {
  expect(until(before(-ms), NOW)).toBe(text);
});

test('the rest', () => {
  expect([duration(12.4), duration(2_345), duration(83_000)]).toEqual(['12 ms', '2.3 s', '1m 23s']);
  expect([percent(0), percent(0.0512), percent(0.5), percent(1.5)]).toEqual(['0%', '5.1%', '50%', '150%']);
  expect([rate(3), rate(0.075), rate(null)]).toEqual(['$3.00', '$0.075', '-']);
});
