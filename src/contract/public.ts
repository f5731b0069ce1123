import { Type } from 'typebox';
import { oneOf, operation, Usd } from './operation.ts';
import { PROVIDERS } from './providers.ts';

export const MAX_INDEX_DAYS = 365;
export const DEFAULT_INDEX_DAYS = 90;
/** A bucket of fewer tenants is nobody's business but theirs. */
export const MIN_INDEX_TENANTS = 3;

export const CostIndexBucket = Type.Object({
  date: Type.String({ description: 'UTC day, YYYY-MM-DD' }),
  provider: oneOf(PROVIDERS),
  model_id: Type.String(),
  model_family: Type.String(),
  avg_cost_usd: Usd,
  p50_cost_usd: Usd,
  p95_cost_usd: Usd,
  total_requests: Type.Integer({
    description:
      'two significant digits; of one tenant at most as many are counted as all others together have',
  }),
  tenant_count: Type.Integer({ minimum: MIN_INDEX_TENANTS }),
});

export const publicOperations = {
  getCostIndex: operation({
    method: 'GET',
    path: '/v1/public/cost-index',
    auth: 'none',
    tag: 'Public',
    summary:
      'What a request costs, by day, provider and model, over the tenants that chose to share; newest day first',
    query: Type.Object({
      provider: Type.Optional(oneOf(PROVIDERS)),
      model_id: Type.Optional(Type.String({ maxLength: 256, pattern: '^[^\\u0000]*$' })),
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_INDEX_DAYS, default: DEFAULT_INDEX_DAYS })),
    }),
    success: 200,
    response: Type.Object({ data: Type.Array(CostIndexBucket) }),
  }),
};
