import { countTokens as countHere } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, describe, expect, test } from 'vitest';
import { approximateTokens, closeEstimator, countTokens } from './estimate.ts';

afterAll(closeEstimator);

describe('the estimator', () => {
  test('counts as the tokenizer does, many texts at once', async () => {
    const texts = [
      'Hello, world!',
      'Größe 🦊 日本語',
      'function f() { return 1; }',
      '<|endoftext|> quoted',
      '',
    ];
    const expected = texts.map((text) => countHere(text, { disallowedSpecial: new Set() }));
    expect(await Promise.all(texts.map(countTokens))).toEqual(expected);
  });

  test('counts long runs without a break in bounded time, within one token per 512 characters', async () => {
    const run = '日本語のテキスト'.repeat(500);
    const exact = countHere(run);
    expect(await countTokens(run)).toBeGreaterThanOrEqual(exact - 8);
    expect(await countTokens(run)).toBeLessThanOrEqual(exact + 8);
    expect(await countTokens(`x${' '.repeat(300_000)}${'a'.repeat(300_000)}`)).toBeLessThan(100_000);
  });

  test('answers by the approximation when it is closed meanwhile, and starts again after', async () => {
    const text = 'some words '.repeat(1000);
    const counting = countTokens(text);
    await closeEstimator();
    expect(await counting).toBe(approximateTokens(text));
    expect(await countTokens('one two three')).toBe(countHere('one two three'));
  });

  test('answers by the approximation when too much is waiting', async () => {
    const large = 'a '.repeat(30 * 1024 * 1024);
    const first = countTokens(large);
    expect(await countTokens(large)).toBe(approximateTokens(large));
    await closeEstimator();
    expect(await first).toBe(approximateTokens(large));
  });
});
