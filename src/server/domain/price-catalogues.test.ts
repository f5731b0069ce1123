import { describe, expect, it } from 'vitest';
import { readLiteLlm, readModelsDev } from './price-catalogues.ts';

const WANTED = new Map([['prov_c' as const, new Set(['gemini-2.5-pro'])]]);
const modelsDev = (cost: object) =>
  readModelsDev(JSON.stringify({ google: { models: { 'gemini-2.5-pro': { cost } } } }), WANTED);
const liteLlm = (fields: object) =>
  readLiteLlm(JSON.stringify({ 'gemini/gemini-2.5-pro': { litellm_provider: 'gemini', ...fields } }), WANTED);

describe('the rates of long prompts', () => {
  const expected = {
    rates: { input: '1.25', output: '10', cached_read: '0.125' },
    long_context: { threshold_tokens: 200_000, rates: { input: '2.5', output: '15' } },
  };

  it('are read from an object of models.dev', () => {
    const reading = modelsDev({
      input: 1.25,
      output: 10,
      cache_read: 0.125,
      context_over_200k: { input: 2.5, output: 15 },
    });
    expect(reading).toMatchObject({ kind: 'read', skipped: [], prices: [expected] });
  });

  it('are read from fields of LiteLLM', () => {
    const reading = liteLlm({
      input_cost_per_token: 1.25e-6,
      input_cost_per_token_above_200k_tokens: 2.5e-6,
      output_cost_per_token: 1e-5,
      output_cost_per_token_above_200k_tokens: 1.5e-5,
      cache_read_input_token_cost: 1.25e-7,
      cache_read_input_token_cost_above_200k_tokens: null,
      input_cost_per_character_above_128k_tokens: 1e-6,
    });
    expect(reading).toMatchObject({ kind: 'read', skipped: [], prices: [expected] });
  });

  it('leave a model out when they are of two thresholds, or no prices', () => {
    const base = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-5 };
    expect(
      liteLlm({
        ...base,
        input_cost_per_token_above_128k_tokens: 2e-6,
        input_cost_per_token_above_200k_tokens: 3e-6,
      }),
    ).toMatchObject({ prices: [], skipped: ['gemini-2.5-pro: more than one price for long prompts'] });
    expect(modelsDev({ input: 1, output: 2, context_over_200k: { input: 'dear' } })).toMatchObject({
      prices: [],
      skipped: ['gemini-2.5-pro: input is not a price'],
    });
  });
});
