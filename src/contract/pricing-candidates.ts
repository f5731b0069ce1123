import { Type } from 'typebox';
import { nullable, oneOf, operation, PageQuery, page, Timestamp, Uuid } from './operation.ts';
import { Price } from './prices.ts';
import { PROVIDERS } from './providers.ts';

export const CANDIDATE_STATUSES = ['pending', 'approved', 'rejected', 'superseded'] as const;
export const CANDIDATE_FLAGS = [
  'jump_over_10x',
  'zero',
  'negative',
  'currency_not_usd',
  'new_model',
  'long_context_unchanged',
] as const;

export const PricingCandidate = Type.Object({
  id: Uuid,
  provider: oneOf(PROVIDERS),
  model_id: Type.String(),
  old_price: nullable(Price),
  new_price: Type.Record(Type.String(), Type.Number(), {
    description:
      'the rates the source states, in US dollars per million tokens unless currency says otherwise; those of long prompts as long_context.…, with their threshold in tokens',
  }),
  currency: Type.String(),
  source: Type.String({ description: 'kind and address of the source' }),
  excerpt: Type.String({ description: 'what the source says, word for word' }),
  flags: Type.Array(oneOf(CANDIDATE_FLAGS), { description: 'what to look at twice before approving' }),
  status: oneOf(CANDIDATE_STATUSES),
  created_at: Timestamp,
  decided_at: nullable(Timestamp),
});

export const PriceSource = Type.Object({
  source: Type.String(),
  last_run_at: nullable(Timestamp),
  last_success_at: nullable(Timestamp),
  last_error: nullable(Type.String()),
  models_found: Type.Integer({ description: 'known models the source priced at its last success' }),
  skipped: Type.Array(Type.String(), {
    description: 'rows of the last run that could not be read for certain',
  }),
});

export const pricingCandidatesOperations = {
  listPricingCandidates: operation({
    method: 'GET',
    path: '/v1/operator/pricing-candidates',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Prices a source states that differ from ours, waiting for a decision',
    query: Type.Object({
      status: Type.Optional(oneOf(CANDIDATE_STATUSES, { default: 'pending' })),
      ...PageQuery,
    }),
    success: 200,
    response: page(PricingCandidate),
  }),
  approvePricingCandidate: operation({
    method: 'POST',
    path: '/v1/operator/pricing-candidates/{id}/approve',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Put the price in force from now on and tell the tenants who used the model',
    success: 200,
    response: PricingCandidate,
    refusals: ['conflict'],
  }),
  rejectPricingCandidate: operation({
    method: 'POST',
    path: '/v1/operator/pricing-candidates/{id}/reject',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Turn it down; the same price from the same source is not offered again',
    success: 200,
    response: PricingCandidate,
    refusals: ['conflict'],
  }),
  listPriceSources: operation({
    method: 'GET',
    path: '/v1/operator/price-sources',
    auth: 'operator',
    tag: 'Operator',
    summary: 'The configured price sources and how their last reading went',
    success: 200,
    response: Type.Array(PriceSource),
  }),
  runScraper: operation({
    method: 'POST',
    path: '/v1/operator/scraper/run',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Read the price sources now; it runs as a job, its outcome is in the sources and the health',
    success: 200,
    response: Type.Object({
      job: Type.String(),
      status: oneOf(['queued', 'no_sources']),
      message: Type.String(),
      sources: Type.Array(Type.String()),
    }),
  }),
};
