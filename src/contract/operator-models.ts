import { Type } from 'typebox';
import { nullable, oneOf, operation, PageQuery, page, Timestamp, text, Uuid } from './operation.ts';
import { PriceChangeFields } from './price-changes.ts';
import { Price, PriceChanges } from './prices.ts';
import { PROVIDERS } from './providers.ts';

export const MODEL_STATUSES = ['active', 'deprecated', 'inactive'] as const;

const ModelStatus = oneOf(MODEL_STATUSES, {
  description: 'deprecated is still priced and shown as such; inactive is neither shown nor priced',
});
const ContextWindow = Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'tokens' });
const EffectiveFrom = Type.String({
  format: 'date-time',
  description: 'an RFC 3339 time, not in the past; absent: now',
});
const Note = Type.String({ maxLength: 1000, pattern: '^[^\\u0000]*$', description: 'plain text' });

const EffectivePrice = Type.Object({
  price_id: Uuid,
  effective_from: Timestamp,
  price: Price,
  source: Type.String(),
  created_at: Timestamp,
});

export const OperatorModel = Type.Object({
  id: Uuid,
  model_id: Type.String(),
  provider: oneOf(PROVIDERS),
  model_family: Type.String(),
  context_window: nullable(Type.Integer()),
  status: oneOf(MODEL_STATUSES),
  ...Price.properties,
  current_price: nullable(EffectivePrice),
  upcoming_prices: Type.Array(EffectivePrice),
  pricing_updated_at: nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});

export const OperatorPriceChange = Type.Object({
  ...PriceChangeFields,
  applied: Type.Boolean({ description: 'whether it opened a price; false only told' }),
  tenants_notified: Type.Integer(),
});

export const operatorModelsOperations = {
  listOperatorModels: operation({
    method: 'GET',
    path: '/v1/operator/models',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Every model, inactive ones included, with its price in force and those to come',
    query: Type.Object({
      provider: Type.Optional(oneOf(PROVIDERS)),
      status: Type.Optional(oneOf(MODEL_STATUSES)),
      search: Type.Optional(
        Type.String({
          maxLength: 256,
          pattern: '^[^\\u0000]*$',
          description: 'part of a model id or family',
        }),
      ),
      ...PageQuery,
    }),
    success: 200,
    response: page(OperatorModel),
  }),
  createModel: operation({
    method: 'POST',
    path: '/v1/operator/models',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Add a model; requests of it that had no price are charged by correcting ledger records',
    body: Type.Object({
      model_id: text(),
      provider: oneOf(PROVIDERS),
      model_family: Type.Optional(text({ description: 'absent: the model id' })),
      context_window: Type.Optional(nullable(ContextWindow)),
      status: Type.Optional(ModelStatus),
      effective_from: Type.Optional(EffectiveFrom),
      ...PriceChanges,
    }),
    strict: true,
    success: 201,
    response: OperatorModel,
    refusals: ['conflict'],
  }),
  updateModel: operation({
    method: 'PUT',
    path: '/v1/operator/models/{id}',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Change a model; a changed price opens a new effective price and tells the tenants who used it',
    body: Type.Object({
      model_family: Type.Optional(text()),
      context_window: Type.Optional(nullable(ContextWindow)),
      status: Type.Optional(ModelStatus),
      effective_from: Type.Optional(EffectiveFrom),
      note: Type.Optional(nullable(Note)),
      ...PriceChanges,
    }),
    strict: true,
    success: 200,
    response: OperatorModel,
    refusals: ['conflict'],
  }),
  listModelPrices: operation({
    method: 'GET',
    path: '/v1/operator/models/{id}/prices',
    auth: 'operator',
    tag: 'Operator',
    summary: 'The price history of a model, the latest start first',
    success: 200,
    response: Type.Array(EffectivePrice),
  }),
  listAnnouncedPriceChanges: operation({
    method: 'GET',
    path: '/v1/operator/models/changes',
    auth: 'operator',
    tag: 'Operator',
    summary: 'Announced price changes, newest first',
    query: Type.Object(PageQuery),
    success: 200,
    response: page(OperatorPriceChange),
  }),
  announcePriceChange: operation({
    method: 'POST',
    path: '/v1/operator/models/changes',
    auth: 'operator',
    tag: 'Operator',
    summary:
      'Announce a price change to the tenants who used the model, and open the price when its time comes',
    body: Type.Object({
      provider: oneOf(PROVIDERS),
      model_id: text(),
      effective_at: Type.Optional(EffectiveFrom),
      apply: Type.Optional(
        Type.Boolean({ default: true, description: 'false only tells and leaves the price book alone' }),
      ),
      source: Type.Optional(text({ description: 'such as the address of the provider’s announcement' })),
      note: Type.Optional(nullable(Note)),
      ...PriceChanges,
    }),
    strict: true,
    success: 201,
    response: OperatorPriceChange,
    refusals: ['conflict'],
  }),
};
