import { Type } from 'typebox';
import { Microdollars, nullable, oneOf, operation, Timestamp, Usd, Uuid } from './operation.ts';
import { scopeName } from './scope.ts';

export const QUOTA_DIMENSIONS = ['model', 'team', 'service', 'end_customer', 'tenant_total'] as const;
export const QUOTA_PERIODS = ['day', 'week', 'month'] as const;
export const FORECAST_STATES = [
  'on_track',
  'projected_exhaustion',
  'over_limit',
  'insufficient_data',
] as const;

export const DEFAULT_ALERT_THRESHOLDS: readonly number[] = [50, 80, 100];
const MAX_ALERT_THRESHOLDS = 20;
export const MAX_ALERT_THRESHOLD = 1_000;
/** The list is not paged. */
export const MAX_SPEND_QUOTAS = 200;
const MAX_QUOTA_MICRODOLLARS = 1_000_000_000_000_000;

const LimitMicrodollars = Type.Integer({
  minimum: 1,
  maximum: MAX_QUOTA_MICRODOLLARS,
  description: 'int64; 1 USD = 1,000,000 microdollars',
});
const AlertThresholds = Type.Array(Type.Integer({ minimum: 1, maximum: MAX_ALERT_THRESHOLD }), {
  maxItems: MAX_ALERT_THRESHOLDS,
  description: `percent of the limit, 1 to ${MAX_ALERT_THRESHOLD}; each tells once per period`,
});

export const SpendQuota = Type.Object({
  id: Uuid,
  dimension_type: oneOf(QUOTA_DIMENSIONS),
  dimension_value: Type.String({ description: 'a team is named by its id; empty for tenant_total' }),
  period: oneOf(QUOTA_PERIODS),
  limit_microdollars: Microdollars,
  limit_usd: Usd,
  alert_thresholds: Type.Array(Type.Integer()),
  enabled: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
});

const Consumption = Type.Object({
  period_start: Timestamp,
  period_end: Timestamp,
  spend_microdollars: Microdollars,
  spend_usd: Usd,
  remaining_microdollars: Type.Integer({ description: '0 when nothing is left' }),
  remaining_usd: Usd,
  utilization: Type.Number({ description: 'spend by limit; 1 is all of it' }),
});

const Forecast = Type.Object({
  state: oneOf(FORECAST_STATES),
  projected_microdollars: nullable(Type.Integer({ description: 'at the end of the period' })),
  projected_usd: nullable(Usd),
  projected_exhaustion_at: nullable(Timestamp),
  daily_run_rate_microdollars: nullable(Microdollars),
  window_days: Type.Number({ description: 'days of this period the estimate rests on' }),
});

export const spendQuotasOperations = {
  createSpendQuota: operation({
    method: 'POST',
    path: '/v1/spend-quotas',
    auth: 'tenant',
    tag: 'Spend quotas',
    summary: 'Be told when spend passes percentages of a limit; nothing is ever blocked',
    body: Type.Object({
      dimension_type: oneOf(QUOTA_DIMENSIONS),
      dimension_value: Type.Optional(
        scopeName('a model_id; a team’s id, slug or name; a service; an end customer'),
      ),
      period: oneOf(QUOTA_PERIODS),
      limit_microdollars: LimitMicrodollars,
      alert_thresholds: Type.Optional(AlertThresholds),
      enabled: Type.Optional(Type.Boolean({ default: true })),
    }),
    success: 201,
    response: SpendQuota,
    refusals: ['limit_exceeded'],
  }),
  listSpendQuotas: operation({
    method: 'GET',
    path: '/v1/spend-quotas',
    auth: 'tenant',
    tag: 'Spend quotas',
    summary: 'All spend quotas, newest first',
    success: 200,
    response: Type.Array(SpendQuota),
  }),
  getSpendQuota: operation({
    method: 'GET',
    path: '/v1/spend-quotas/{id}',
    auth: 'tenant',
    tag: 'Spend quotas',
    summary: 'One spend quota',
    success: 200,
    response: SpendQuota,
  }),
  updateSpendQuota: operation({
    method: 'PUT',
    path: '/v1/spend-quotas/{id}',
    auth: 'tenant',
    tag: 'Spend quotas',
    summary: 'Change the limit or the thresholds, or switch it off and on',
    body: Type.Object({
      limit_microdollars: Type.Optional(LimitMicrodollars),
      alert_thresholds: Type.Optional(AlertThresholds),
      enabled: Type.Optional(Type.Boolean()),
    }),
    success: 200,
    response: SpendQuota,
  }),
  deleteSpendQuota: operation({
    method: 'DELETE',
    path: '/v1/spend-quotas/{id}',
    auth: 'tenant',
    tag: 'Spend quotas',
    summary: 'Delete a spend quota',
    success: 204,
    response: null,
  }),
  forecastSpendQuota: operation({
    method: 'GET',
    path: '/v1/spend-quotas/{id}/forecast',
    auth: 'tenant',
    tag: 'Spend quotas',
    summary: 'Where the period will end if spend goes on as it has',
    success: 200,
    response: Type.Object({ quota: SpendQuota, consumption: Consumption, forecast: Forecast }),
  }),
};
