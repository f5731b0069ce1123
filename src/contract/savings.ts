import { Type } from 'typebox';
import { Microdollars, nullable, oneOf, operation, Timestamp, Usd, Uuid } from './operation.ts';
import { PROVIDERS } from './providers.ts';

export const FINDING_TYPES = [
  'model_downgrade_opportunity',
  'small_token_requests',
  'underutilized_cache',
  'duplicate_prompts',
  'idle_models',
] as const;

export const SavingsFinding = Type.Object({
  id: Uuid,
  finding_type: oneOf(FINDING_TYPES),
  provider: oneOf(PROVIDERS),
  model_id: Type.String(),
  service_name: nullable(Type.String({ description: 'null: all services, or requests that name none' })),
  period_start: Timestamp,
  period_end: Timestamp,
  current_cost_microdollars: Microdollars,
  current_cost_usd: Usd,
  optimized_cost_microdollars: Microdollars,
  optimized_cost_usd: Usd,
  savings_microdollars: Microdollars,
  savings_usd: Usd,
  recommendation_text: Type.String({ description: 'what to do, with the arithmetic' }),
  dismissed: Type.Boolean(),
  created_at: Timestamp,
});

export const savingsOperations = {
  listSavings: operation({
    method: 'GET',
    path: '/v1/savings',
    auth: 'tenant',
    tag: 'Savings',
    summary:
      'Where the last 30 days could have cost less, the largest saving first. Findings can concern the same requests, so their savings do not add up.',
    query: Type.Object({
      include_dismissed: Type.Optional(Type.Boolean({ description: 'dismissed findings too' })),
    }),
    success: 200,
    response: Type.Array(SavingsFinding),
  }),
  dismissSaving: operation({
    method: 'POST',
    path: '/v1/savings/{id}/dismiss',
    auth: 'tenant',
    tag: 'Savings',
    summary: 'Put a finding away for good: no later analysis brings it back',
    success: 200,
    response: SavingsFinding,
  }),
};
