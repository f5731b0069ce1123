import { findPrice, type PriceBook } from '../domain/price-book.ts';
import { costOf } from '../domain/pricing.ts';
import type { AdmittedRequest, RequestRecord } from '../domain/request-record.ts';
import { emptyUsage, tokensInput, tokensOutput, type Usage } from '../domain/usage.ts';
import { type Reading, type RequestFacts, requestText } from './providers/index.ts';
import { countTokens } from './tap/estimate.ts';

/** A client that left before the end, as nginx writes it down. */
export const STATUS_CLIENT_LEFT = 499;

type Pricing = Pick<
  RequestRecord,
  'cost_microdollars' | 'cost_status' | 'cost_breakdown' | 'price_id' | 'model_family'
>;
const FREE: Pricing = {
  cost_microdollars: 0,
  cost_status: 'free',
  cost_breakdown: [],
  price_id: null,
  model_family: null,
};

export interface Outcome {
  status: number;
  ended: 'complete' | 'cut' | 'client_left';
  reading: Reading;
  latencyTotalMs: number;
  latencyFirstByteMs: number;
}

/** What an answered request used and cost: the provider's own figures, or an estimate that says it is one. */
export async function meterAnswer(
  admitted: AdmittedRequest,
  facts: RequestFacts,
  body: Buffer,
  outcome: Outcome,
  prices: PriceBook,
): Promise<RequestRecord> {
  const { reading } = outcome;
  const billable = isBillable(facts, admitted.method, outcome.status);
  const { usage, source } = billable
    ? await usageOf(facts, body, reading)
    : { usage: null, source: 'none' as const };
  const pricing = billable ? priceUsage(admitted, reading, usage, prices) : FREE;
  const anomalies = [...reading.anomalies];
  if (reading.streamError) anomalies.push(`error in the stream: ${reading.streamError}`);
  if (outcome.ended === 'cut') anomalies.push('the provider broke the response off');
  const { input_tokens_approximate: _, ...known } = admitted;
  return {
    ...known,
    ...pricing,
    model_id: reading.modelServed ?? admitted.model_requested,
    status_code: outcome.ended === 'client_left' ? STATUS_CLIENT_LEFT : outcome.status,
    refusal: null,
    in_ledger: true,
    tokens_input: usage ? tokensInput(usage) : 0,
    tokens_output: usage ? tokensOutput(usage) : 0,
    usage: usage ?? emptyUsage(),
    usage_source: source,
    service_tier: reading.terms.tier,
    anomalies,
    interrupted: false,
    latency_total_ms: Math.round(outcome.latencyTotalMs),
    latency_first_byte_ms: Math.round(outcome.latencyFirstByteMs),
  };
}

function isBillable(facts: RequestFacts, method: string, status: number): boolean {
  if (status < 200 || status > 299) return false;
  return facts.kind === 'inference' || (facts.kind === 'unknown' && method === 'POST');
}

async function usageOf(
  facts: RequestFacts,
  body: Buffer,
  reading: Reading,
): Promise<{ usage: Usage | null; source: RequestRecord['usage_source'] }> {
  if (reading.usage && reading.outputReported) return { usage: reading.usage, source: 'provider' };
  if (reading.usage) {
    const output = await countTokens(reading.outputText);
    return {
      usage: { ...reading.usage, output: Math.max(output, reading.usage.output) },
      source: 'estimated',
    };
  }
  if (facts.kind !== 'inference') return { usage: null, source: 'none' };
  const [input, output] = await Promise.all([
    countTokens(requestText(body)),
    countTokens(reading.outputText),
  ]);
  return { usage: { ...emptyUsage(), input, output }, source: 'estimated' };
}

function priceUsage(
  admitted: AdmittedRequest,
  reading: Pick<Reading, 'modelServed' | 'terms'>,
  usage: Usage | null,
  prices: PriceBook,
): Pricing {
  const admittedAtMs = Date.parse(admitted.created_at);
  const found = findPrice(
    prices,
    admitted.provider,
    admitted.model_requested,
    reading.modelServed,
    admittedAtMs,
  );
  if (!found || !usage) return { ...FREE, cost_status: 'unpriced', model_family: found?.modelFamily ?? null };
  const cost = costOf(found.price, usage, reading.terms, admittedAtMs);
  return {
    cost_microdollars: cost.microdollars,
    cost_status: 'priced',
    cost_breakdown: cost.breakdown,
    price_id: found.priceId,
    model_family: found.modelFamily,
  };
}

/** A request that got no answer from its provider: refused by us, or never answered. */
export function recordWithoutAnswer(
  admitted: AdmittedRequest,
  outcome: { status: number; refusal: string | null; reached: boolean; latencyTotalMs: number },
): RequestRecord {
  const { input_tokens_approximate: _, ...known } = admitted;
  return {
    ...known,
    ...FREE,
    model_id: admitted.model_requested,
    status_code: outcome.status,
    refusal: outcome.refusal,
    in_ledger: outcome.reached,
    tokens_input: 0,
    tokens_output: 0,
    usage: emptyUsage(),
    usage_source: 'none',
    service_tier: null,
    anomalies: [],
    interrupted: false,
    latency_total_ms: Math.round(outcome.latencyTotalMs),
    latency_first_byte_ms: null,
  };
}

/**
 * A request that was in flight when the process was killed. What the provider made of it is not known: the
 * input is charged by its approximate size, and the record says that it is an estimate of an interrupted call.
 */
export function recordInterrupted(admitted: AdmittedRequest, prices: PriceBook): RequestRecord {
  const usage = { ...emptyUsage(), input: admitted.input_tokens_approximate };
  const reading = { modelServed: null, terms: { tier: null, region: null } };
  const pricing = priceUsage(admitted, reading, usage, prices);
  return {
    ...recordWithoutAnswer(admitted, {
      status: STATUS_CLIENT_LEFT,
      refusal: null,
      reached: true,
      latencyTotalMs: 0,
    }),
    ...pricing,
    tokens_input: usage.input,
    usage,
    usage_source: 'estimated',
    anomalies: ['the gateway was stopped while the request was in flight'],
    interrupted: true,
  };
}
