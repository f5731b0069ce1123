import { findPrice, type PriceBook } from '../domain/price-book.ts';
import { costOf } from '../domain/pricing.ts';
import type { AdmittedRequest, RequestOutcome } from '../domain/request-record.ts';
import { emptyUsage, type ServedTerms, tokensInput, tokensOutput, type Usage } from '../domain/usage.ts';
import { type Reading, type RequestFacts, requestText } from './providers/index.ts';
import { countTokens } from './tap/estimate.ts';

/** A client that left before the end, as nginx writes it down. */
export const STATUS_CLIENT_LEFT = 499;

type Pricing = Pick<
  RequestOutcome,
  'cost_microdollars' | 'cost_status' | 'price_id' | 'model_family' | 'anomalies'
>;
const FREE: Pricing = {
  cost_microdollars: 0,
  cost_status: 'free',
  price_id: null,
  model_family: null,
  anomalies: [],
};

export interface Answer {
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
  answer: Answer,
  prices: PriceBook,
): Promise<RequestOutcome> {
  const { reading } = answer;
  const billable = isBillable(facts, admitted.method, answer.status);
  const metered = billable ? await usageOf(facts, body, reading) : UNMETERED;
  const pricing = billable ? priceUsage(admitted, reading, metered.usage, prices) : FREE;
  const anomalies = [...reading.anomalies, ...pricing.anomalies];
  if (reading.streamError) anomalies.push(`error in the stream: ${reading.streamError}`);
  if (answer.ended === 'cut') anomalies.push('the provider broke the response off');
  return makeOutcome(admitted, {
    modelServed: reading.modelServed,
    status: answer.ended === 'client_left' ? STATUS_CLIENT_LEFT : answer.status,
    refusal: null,
    inLedger: true,
    usage: metered.usage ?? emptyUsage(),
    usageSource: metered.source,
    pricing,
    terms: reading.terms,
    anomalies,
    interrupted: false,
    latencyTotalMs: answer.latencyTotalMs,
    latencyFirstByteMs: answer.latencyFirstByteMs,
  });
}

interface OutcomeFacts {
  modelServed: string | null;
  status: number;
  refusal: string | null;
  inLedger: boolean;
  usage: Usage;
  usageSource: RequestOutcome['usage_source'];
  pricing: Pricing;
  terms: ServedTerms;
  anomalies: string[];
  interrupted: boolean;
  latencyTotalMs: number;
  latencyFirstByteMs: number | null;
}

function makeOutcome(admitted: AdmittedRequest, facts: OutcomeFacts): RequestOutcome {
  return {
    model_id: facts.modelServed ?? admitted.model_requested,
    model_family: facts.pricing.model_family,
    status_code: facts.status,
    refusal: facts.refusal,
    in_ledger: facts.inLedger,
    tokens_input: tokensInput(facts.usage),
    tokens_output: tokensOutput(facts.usage),
    usage: facts.usage,
    usage_source: facts.usageSource,
    cost_microdollars: facts.pricing.cost_microdollars,
    cost_status: facts.pricing.cost_status,
    price_id: facts.pricing.price_id,
    service_tier: facts.terms.tier,
    region: facts.terms.region,
    anomalies: facts.anomalies,
    interrupted: facts.interrupted,
    latency_total_ms: Math.round(facts.latencyTotalMs),
    latency_first_byte_ms: facts.latencyFirstByteMs === null ? null : Math.round(facts.latencyFirstByteMs),
  };
}

const STANDARD_TERMS: ServedTerms = { tier: null, region: null };
const UNMETERED = { usage: null, source: 'none' as const };

function isBillable(facts: RequestFacts, method: string, status: number): boolean {
  if (status < 200 || status > 299) return false;
  return facts.kind === 'inference' || (facts.kind === 'unknown' && method === 'POST');
}

async function usageOf(
  facts: RequestFacts,
  body: Buffer,
  reading: Reading,
): Promise<{ usage: Usage | null; source: RequestOutcome['usage_source'] }> {
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
    price_id: found.priceId,
    model_family: found.modelFamily,
    anomalies: [
      ...cost.unpriced.map((part) => `no price for ${part}`),
      ...(cost.clamped ? ['the cost was cut to what can be held exactly'] : []),
    ],
  };
}

/** A request that got no answer from its provider: refused by us, or never answered. */
export function meterWithoutAnswer(
  admitted: AdmittedRequest,
  outcome: { status: number; refusal: string | null; reached: boolean; latencyTotalMs: number },
): RequestOutcome {
  return makeOutcome(admitted, {
    modelServed: null,
    status: outcome.status,
    refusal: outcome.refusal,
    inLedger: outcome.reached,
    usage: emptyUsage(),
    usageSource: 'none',
    pricing: FREE,
    terms: STANDARD_TERMS,
    anomalies: [],
    interrupted: false,
    latencyTotalMs: outcome.latencyTotalMs,
    latencyFirstByteMs: null,
  });
}

/**
 * A request that was in flight when the process was killed. What the provider made of it is not known, and the
 * record says so: its input is charged by its approximate size, or, where a budget had it reserve the most it
 * could cost, that much, so that a kill cannot carry a budget past its limit.
 */
export function meterInterrupted(admitted: AdmittedRequest, prices: PriceBook): RequestOutcome {
  const usage = { ...emptyUsage(), input: admitted.input_tokens_approximate };
  const priced = priceUsage(admitted, { modelServed: null, terms: STANDARD_TERMS }, usage, prices);
  const reserved = admitted.reserved_microdollars;
  const pricing = reserved > 0 ? { ...priced, cost_microdollars: reserved } : priced;
  return makeOutcome(admitted, {
    modelServed: null,
    status: STATUS_CLIENT_LEFT,
    refusal: null,
    inLedger: true,
    usage,
    usageSource: 'estimated',
    pricing,
    terms: STANDARD_TERMS,
    anomalies: ['the gateway was stopped while the request was in flight'],
    interrupted: true,
    latencyTotalMs: 0,
    latencyFirstByteMs: null,
  });
}
