import { Type } from 'typebox';
import {
  Microdollars,
  nullable,
  oneOf,
  operation,
  PageQuery,
  page,
  Timestamp,
  Usd,
  Uuid,
} from './operation.ts';
import { Price } from './prices.ts';
import { PROVIDERS } from './providers.ts';

/** How long a price change is shown to those it concerns, and how far back a model counts as used. */
export const CHANGE_WINDOW_DAYS = 30;

/** What a price change says to everyone. */
export const PriceChangeFields = {
  id: Uuid,
  provider: oneOf(PROVIDERS),
  model_id: Type.String(),
  model_family: Type.String(),
  old_price: Price,
  new_price: Price,
  differences: Type.Array(
    Type.Object({
      field: Type.String({ description: 'such as pricing_input_per_mtok or tier_multipliers.batch' }),
      old: nullable(Type.Unknown()),
      new: nullable(Type.Unknown()),
    }),
  ),
  effective_at: Timestamp,
  source: Type.String({ description: 'where the new price comes from' }),
  note: nullable(Type.String()),
  created_at: Timestamp,
};

/** A price change as one tenant sees it: with what it does to that tenant's own bill. */
export const PriceChange = Type.Object({
  ...PriceChangeFields,
  status: oneOf(['active', 'acknowledged', 'dismissed']),
  decided_at: nullable(Timestamp),
  decided_by: nullable(Type.String()),
  estimate: Type.Object(
    {
      window_days: Type.Integer(),
      tokens_input: Type.Integer(),
      tokens_cached: Type.Integer(),
      tokens_output: Type.Integer(),
      spend_microdollars: Microdollars,
      spend_usd: Usd,
      monthly_effect_microdollars: Microdollars,
      monthly_effect_usd: Usd,
      assumptions: Type.Array(Type.String()),
    },
    { description: 'this tenant’s tokens of the window times the difference of the rates' },
  ),
});

export const priceChangesOperations = {
  listPriceChanges: operation({
    method: 'GET',
    path: '/v1/models/changes',
    auth: 'tenant',
    tag: 'Models',
    summary: `Price changes of the last ${CHANGE_WINDOW_DAYS} days, announced ones included, for models you used in that time`,
    success: 200,
    response: Type.Array(PriceChange),
  }),
  listDecidedPriceChanges: operation({
    method: 'GET',
    path: '/v1/models/changes-history',
    auth: 'tenant',
    tag: 'Models',
    summary: 'Price changes you acknowledged or dismissed, the latest decision first',
    query: Type.Object(PageQuery),
    success: 200,
    response: page(PriceChange),
  }),
  acknowledgePriceChange: operation({
    method: 'POST',
    path: '/v1/models/changes/{id}/acknowledge',
    auth: 'tenant',
    tag: 'Models',
    summary: 'Say that a price change was noted; it moves to the history, and its alert is acknowledged',
    success: 200,
    response: PriceChange,
  }),
  dismissPriceChange: operation({
    method: 'POST',
    path: '/v1/models/changes/{id}/dismiss',
    auth: 'tenant',
    tag: 'Models',
    summary:
      'Say that a price change does not matter; it moves to the history, and its alert is acknowledged',
    success: 200,
    response: PriceChange,
  }),
};
