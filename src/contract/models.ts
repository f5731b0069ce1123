import { Type } from 'typebox';
import { nullable, oneOf, operation, Timestamp } from './operation.ts';
import { PROVIDERS } from './providers.ts';

export const Model = Type.Object({
  model_id: Type.String(),
  provider: oneOf(PROVIDERS),
  model_family: Type.String(),
  pricing_input_per_mtok: Type.Number(),
  pricing_output_per_mtok: Type.Number(),
  pricing_cached_per_mtok: nullable(Type.Number()),
  pricing_cache_write_per_mtok: nullable(Type.Number()),
  pricing_cache_write_1h_per_mtok: nullable(Type.Number()),
  context_window: nullable(Type.Integer()),
  status: Type.String(),
  pricing_updated_at: Timestamp,
});

export const modelsOperations = {
  listModels: operation({
    method: 'GET',
    path: '/v1/models',
    auth: 'tenant',
    tag: 'Models',
    summary: 'Every model with its price of today, in US dollars per million tokens',
    query: Type.Object({ provider: Type.Optional(oneOf(PROVIDERS)) }),
    success: 200,
    response: Type.Array(Model),
  }),
};
