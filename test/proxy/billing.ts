import { expect } from 'vitest';
import type { Provider } from '../../src/contract/providers.ts';
import type { SimUsage } from '../../src/simulator/index.ts';
import { eventually, type Gateway } from '../harness.ts';

/** USD per million tokens, all different, so that a token in the wrong bucket shows in the cost. */
export const RATES = {
  input: 3,
  cached: 0.7,
  cacheWrite5m: 4.1,
  cacheWrite1h: 6.3,
  output: 11,
  audioInput: 17,
  audioOutput: 19,
  imageInput: 23,
  imageOutput: 29,
};
export const LONG_FACTOR = 2;
export const LONG_THRESHOLD_TOKENS = 5_000;
export const SEARCH_FEE_MICRODOLLARS = 10_000;
export const SECOND_MICRODOLLARS = 100;

/** Prices a model as above, for one provider. */
export async function priceModel(
  gateway: Gateway,
  provider: Provider,
  modelId: string,
  factor = 1,
): Promise<void> {
  const at = (rate: number) => Number((rate * factor).toFixed(6));
  const tokens = (by: number) => ({
    pricing_input_per_mtok: at(RATES.input * by),
    pricing_output_per_mtok: at(RATES.output * by),
    pricing_cached_per_mtok: at(RATES.cached * by),
    pricing_cache_write_per_mtok: at(RATES.cacheWrite5m * by),
    pricing_cache_write_1h_per_mtok: at(RATES.cacheWrite1h * by),
    pricing_audio_input_per_mtok: at(RATES.audioInput * by),
    pricing_audio_output_per_mtok: at(RATES.audioOutput * by),
    pricing_image_input_per_mtok: at(RATES.imageInput * by),
    pricing_image_output_per_mtok: at(RATES.imageOutput * by),
  });
  const made = await gateway.call('POST', '/v1/operator/models', {
    token: gateway.operatorToken,
    body: {
      model_id: modelId,
      provider,
      ...tokens(1),
      pricing_per_second_microdollars: SECOND_MICRODOLLARS,
      long_context: { threshold_tokens: LONG_THRESHOLD_TOKENS, ...tokens(LONG_FACTOR) },
      tier_multipliers: { flex: 0.5, priority: 2, batch: 0.25, fast: 6 },
      region_multipliers: { us: 1.1 },
      fees: { web_search_per_1k_usd: 10 },
    },
  });
  if (made.status !== 201 && made.status !== 409) throw new Error(`a model: ${made.status} ${made.text}`);
}

/** What the simulator billed, at the rates above: sums in millionths of a microdollar, rounded half up at the end. */
export function billOf(usage: SimUsage, multiplier = 1): number {
  const text = usage.inputTokens - usage.audioInputTokens - usage.imageInputTokens + usage.toolUseTokens;
  const spoken = usage.outputTokens - usage.audioOutputTokens - usage.imageOutputTokens;
  const parts: Array<[number, number]> = [
    [text, RATES.input],
    [usage.cachedTokens, RATES.cached],
    [usage.cacheWrite5mTokens, RATES.cacheWrite5m],
    [usage.cacheWrite1hTokens, RATES.cacheWrite1h],
    [usage.audioInputTokens, RATES.audioInput],
    [usage.imageInputTokens, RATES.imageInput],
    [spoken, RATES.output],
    [usage.audioOutputTokens, RATES.audioOutput],
    [usage.imageOutputTokens, RATES.imageOutput],
    [usage.audioSeconds, SECOND_MICRODOLLARS],
  ];
  let millionths = 0n;
  for (const [count, rate] of parts)
    millionths += BigInt(count) * BigInt(Math.round(rate * multiplier * 1e6));
  millionths += BigInt(usage.webSearches * SEARCH_FEE_MICRODOLLARS) * 1_000_000n;
  return Number((millionths + 500_000n) / 1_000_000n);
}

/** The row and the ledger record of a request, once both are there. */
export async function recorded(gateway: Gateway, requestId: string | null): Promise<Record<string, unknown>> {
  const row = await eventually(async () => {
    const [found] = await gateway.sql(
      `select requests.*, ledger.cost_microdollars as ledger_cost
         from requests left join ledger_records ledger
           on ledger.tenant_id = requests.tenant_id and ledger.request_id = requests.id
        where requests.id = $1`,
      [requestId],
    );
    if (!found) throw new Error('no row yet');
    return found;
  });
  expect(row.ledger_cost).toBe(row.cost_microdollars);
  return row;
}
