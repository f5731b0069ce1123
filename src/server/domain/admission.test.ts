import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROVIDERS } from '../../contract/providers.ts';
import {
  type CostQuestion,
  costAtMost,
  leaseShare,
  MIN_OUTPUT_TOKENS_BY_HISTORY,
  OUTPUT_TOKENS_WITHOUT_HISTORY,
  outputTokensByHistory,
} from './admission.ts';
import { costOf } from './pricing.ts';
import { SEED_MODELS } from './seed-prices.ts';
import { emptyUsage, type TokenBucket } from './usage.ts';

const AT_MS = Date.UTC(2026, 8, 1, 12);
const PRICES = SEED_MODELS.map(({ provider, model_id, prices }) => ({
  provider,
  model_id,
  price: prices[0]!.price,
}));

describe('the most a request can cost', () => {
  const question = fc.record({
    inputTokensAtMost: fc.nat(2_000_000),
    outputTokensAtMost: fc.nat(200_000),
    choices: fc.integer({ min: 1, max: 128 }),
    tierRequested: fc.constantFrom(null, 'flex', 'priority', 'batch', 'fast'),
    mentions: fc.record({
      cacheControl: fc.boolean(),
      cacheOneHour: fc.boolean(),
      audio: fc.boolean(),
      webSearch: fc.boolean(),
    }),
  });
  /** How the tokens that were allowed fall into buckets, in thousandths. */
  const split = fc.record({ cached: fc.nat(1_000), dearer: fc.nat(1_000), reasoning: fc.nat(1_000) });

  test('is never below what the meter charges for any use of what was allowed', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PRICES), question, split, ({ provider, price }, asked, parts) => {
        const whole: CostQuestion = { ...asked, provider, regionRequested: null };
        const input = asked.inputTokensAtMost;
        const output = asked.outputTokensAtMost * asked.choices;
        const share = (tokens: number, thousandths: number) => Math.floor((tokens * thousandths) / 1_000);
        const usage = emptyUsage();
        const cached = share(input, parts.cached);
        const dearer = share(input - cached, parts.dearer);
        const writes: TokenBucket[] = ['image_input'];
        if (provider === 'prov_a' || asked.mentions.cacheControl) writes.push('cache_write_5m');
        if (asked.mentions.cacheControl && asked.mentions.cacheOneHour) writes.push('cache_write_1h');
        if (asked.mentions.audio) writes.push('audio_input');
        usage.cached_read = cached;
        usage[writes.at(-1)!] = dearer;
        usage.input = input - cached - dearer;
        usage.reasoning = share(output, parts.reasoning);
        usage[asked.mentions.audio ? 'audio_output' : 'image_output'] = share(
          output - usage.reasoning,
          parts.dearer,
        );
        usage.output = output - usage.reasoning - usage.audio_output - usage.image_output;
        for (const tier of [null, asked.tierRequested]) {
          const charged = costOf(price, usage, { tier, region: null }, AT_MS).microdollars;
          expect(costAtMost(price, whole, AT_MS)).toBeGreaterThanOrEqual(charged);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('is a whole amount, never negative, at the largest sizes a request may claim', () => {
    for (const provider of PROVIDERS) {
      for (const { price } of PRICES.filter((model) => model.provider === provider)) {
        const cost = costAtMost(
          price,
          {
            provider,
            inputTokensAtMost: 2 ** 31,
            outputTokensAtMost: 10_000_000,
            choices: 128,
            tierRequested: 'priority',
            regionRequested: 'constructor',
            mentions: { cacheControl: true, cacheOneHour: true, audio: true, webSearch: true },
          },
          AT_MS,
        );
        expect(Number.isSafeInteger(cost) && cost >= 0).toBe(true);
      }
    }
  });

  test('counts the dearest bucket of a long request by the rates of long requests', () => {
    const price = {
      rates: { input: 1_000_000n, output: 1_000_000n, cache_write_5m: 1_250_000n },
      long_context: { threshold_tokens: 1_000, rates: { input: 2_000_000n } },
      tier_multipliers: {},
      region_multipliers: {},
      fees: {},
    };
    const asked: CostQuestion = {
      provider: 'prov_a',
      inputTokensAtMost: 2_000,
      outputTokensAtMost: 0,
      choices: 1,
      tierRequested: null,
      regionRequested: null,
      mentions: { cacheControl: false, cacheOneHour: false, audio: false, webSearch: false },
    };
    expect(costAtMost(price, asked, AT_MS)).toBe(4_000);
  });
});

describe('what a model is taken to answer when no cap is stated', () => {
  test('is a fixed figure until there is history, then what nearly every answer stays below', () => {
    expect(outputTokensByHistory(new Array(19).fill(50_000))).toBe(OUTPUT_TOKENS_WITHOUT_HISTORY);
    expect(outputTokensByHistory(new Array(200).fill(10))).toBe(MIN_OUTPUT_TOKENS_BY_HISTORY);
    expect(outputTokensByHistory([...new Array(197).fill(10), 9_000, 9_000, 9_000])).toBe(9_000);
  });
});

describe('the share a node takes beyond its need', () => {
  test('never exceeds what is left, is never negative, and is nothing at the limit', () => {
    const amount = fc.nat(Number.MAX_SAFE_INTEGER);
    fc.assert(
      fc.property(amount, amount, (left, need) => {
        const share = leaseShare(left, need);
        expect(Number.isSafeInteger(share) && share >= 0).toBe(true);
        expect(share).toBeLessThanOrEqual(Math.max(0, left - need));
      }),
    );
    expect(leaseShare(100, 100)).toBe(0);
    expect(leaseShare(0, 0)).toBe(0);
  });
});
