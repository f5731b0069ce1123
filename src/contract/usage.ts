import { type TSchema, Type } from 'typebox';
import {
  DayRangeQuery,
  FormatQuery,
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

/** What reports cover when the caller names no range; `to` alone means as many days, ending there. */
export const DEFAULT_RANGE_DAYS = 30;
/** A time series has one row per bucket, traffic or not, so its length has a bound. */
export const MAX_HOUR_SERIES_DAYS = 31;
export const MAX_DAY_SERIES_DAYS = 3_660;
/** Names of services, users and customers are the callers' own: a report must not grow with their fancy. */
export const MAX_AGGREGATE_ROWS = 1_000;
export const MAX_EXPORT_ROWS = 10_000;
/** No sum knows the statuses of one user or customer, so those are looked for in as many requests as this. */
export const MAX_SEARCHED_REQUESTS = 50_000;
/** Stands for the model of requests that name none; as a filter it finds them. */
export const UNKNOWN_MODEL = 'unknown';

/** PostgreSQL holds any text but the one with a NUL in it. */
const STORABLE_TEXT = '^[^\\u0000]*$';

const UsageFilters = {
  ...DayRangeQuery,
  team_id: Type.Optional(Uuid),
  model: Type.Optional(
    Type.String({
      maxLength: 256,
      pattern: STORABLE_TEXT,
      description: `a model_id, exactly; ${UNKNOWN_MODEL} finds requests that name no model`,
    }),
  ),
  service: Type.Optional(
    Type.String({ maxLength: 256, pattern: STORABLE_TEXT, description: 'a service name, exactly' }),
  ),
};

const PersonFilters = {
  user: Type.Optional(
    Type.String({ maxLength: 256, pattern: STORABLE_TEXT, description: 'a user name, exactly' }),
  ),
  end_customer: Type.Optional(
    Type.String({
      maxLength: 256,
      pattern: STORABLE_TEXT,
      description: `an end customer, exactly; together with user or status, or user with status, only the newest ${MAX_SEARCHED_REQUESTS} requests of the user, or else of the customer, are looked through`,
    }),
  ),
};

const Figures = {
  requests: Type.Integer(),
  tokens_input: Type.Integer(),
  tokens_output: Type.Integer(),
  cost_microdollars: Microdollars,
  cost_usd: Usd,
};

const ModelFigures = Type.Object({ model_id: Type.String(), ...Figures });
const TeamFields = { team_id: nullable(Uuid), team_name: nullable(Type.String()) };
const BucketFigures = Type.Object({
  bucket: Type.String({ format: 'date-time', description: 'where the bucket begins, UTC' }),
  ...Figures,
});

export const RequestRow = Type.Object({
  id: Uuid,
  created_at: Timestamp,
  provider: Type.String(),
  model_id: nullable(Type.String()),
  tokens_input: Type.Integer(),
  tokens_output: Type.Integer(),
  cost_microdollars: Microdollars,
  cost_usd: Usd,
  cost_status: oneOf(['priced', 'free', 'unpriced']),
  usage_source: oneOf(['provider', 'estimated', 'none']),
  latency_total_ms: Type.Integer(),
  status_code: Type.Integer(),
  team_id: nullable(Uuid),
  service_name: nullable(Type.String()),
});

export const RequestDetail = Type.Object({
  ...RequestRow.properties,
  model_requested: nullable(Type.String()),
  model_family: nullable(Type.String()),
  endpoint: Type.String(),
  method: Type.String(),
  stream: Type.Boolean(),
  environment: Type.String(),
  api_key_id: Uuid,
  latency_first_byte_ms: nullable(Type.Integer()),
  user: nullable(Type.String()),
  end_customer: nullable(Type.String()),
  agent: nullable(Type.String()),
  tags: Type.Record(Type.String(), Type.String()),
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'harmless request headers such as user-agent',
  }),
  usage: Type.Record(Type.String(), Type.Unknown(), { description: 'tokens in disjoint buckets' }),
  cost_breakdown: Type.Array(
    Type.Object({
      bucket: Type.String(),
      quantity: Type.Number(),
      unit: Type.String({ description: 'tokens, calls or seconds' }),
      rate_usd: Type.String(),
      cost_usd: Type.String(),
    }),
  ),
  service_tier: nullable(Type.String()),
  price_id: nullable(Uuid),
  interrupted: Type.Boolean(),
  refusal: nullable(Type.String()),
  anomalies: Type.Array(Type.String()),
  sequence_number: nullable(Type.Integer()),
  record_hash: nullable(Type.String()),
});

function aggregate<const D extends string, const F extends Record<string, TSchema>>(
  dimension: D,
  fields: F,
  aliases: string[],
) {
  return operation({
    method: 'GET',
    path: `/v1/usage/by-${dimension}`,
    aliases,
    auth: 'tenant',
    tag: 'Usage',
    summary: `Spend by ${dimension.replace('-', ' ')}, most expensive first; of the last ${DEFAULT_RANGE_DAYS} days when no range is given`,
    query: Type.Object({
      ...UsageFilters,
      limit: Type.Optional(
        Type.Integer({
          minimum: 0,
          default: MAX_AGGREGATE_ROWS,
          description: `at most ${MAX_AGGREGATE_ROWS}`,
        }),
      ),
      offset: PageQuery.offset,
    }),
    success: 200,
    response: Type.Object({
      data: Type.Array(Type.Object({ ...fields, ...Figures })),
      total: Type.Integer({ description: 'rows there are, beyond limit and offset too' }),
    }),
  });
}

const PersonDetail = {
  ...Figures,
  by_model: Type.Array(ModelFigures),
  timeseries: Type.Array(BucketFigures, { description: 'one row per day, days without traffic included' }),
};

export const usageOperations = {
  getUsageSummary: operation({
    method: 'GET',
    path: '/v1/usage/summary',
    aliases: ['/v1/cost/summary'],
    auth: 'tenant',
    tag: 'Usage',
    summary: `Totals of a range with its most expensive models and teams; of the last ${DEFAULT_RANGE_DAYS} days when no range is given`,
    query: Type.Object({ ...UsageFilters }),
    success: 200,
    response: Type.Object({
      total_cost_microdollars: Microdollars,
      total_cost_usd: Usd,
      total_requests: Type.Integer(),
      total_tokens_input: Type.Integer(),
      total_tokens_output: Type.Integer(),
      total_tokens_cached: Type.Integer(),
      total_errors: Type.Integer({ description: 'requests answered 400 or above' }),
      average_latency_ms: Type.Integer(),
      top_models: Type.Array(ModelFigures),
      top_teams: Type.Array(Type.Object({ ...TeamFields, ...Figures })),
    }),
  }),
  listRequests: operation({
    method: 'GET',
    path: '/v1/usage/requests',
    auth: 'tenant',
    tag: 'Usage',
    summary: `The request log, newest first, from its beginning when no range is given; as CSV the newest ${MAX_EXPORT_ROWS} that match`,
    query: Type.Object({
      ...UsageFilters,
      ...PersonFilters,
      status: Type.Optional(
        Type.Integer({ minimum: 100, maximum: 999, description: 'the HTTP status answered' }),
      ),
      ...PageQuery,
      ...FormatQuery,
    }),
    success: 200,
    response: page(RequestRow),
    streams: 'csv',
  }),
  getRequest: operation({
    method: 'GET',
    path: '/v1/usage/requests/{id}',
    auth: 'tenant',
    tag: 'Usage',
    summary: 'One request with buckets, rates, attribution and its place in the ledger',
    success: 200,
    response: RequestDetail,
  }),
  getUsageByModel: aggregate('model', { model_id: Type.String() }, ['/v1/cost/by-model']),
  getUsageByTeam: aggregate('team', TeamFields, ['/v1/cost/by-team']),
  getUsageByService: aggregate('service', { service_name: nullable(Type.String()) }, ['/v1/cost/by-service']),
  getUsageByUser: aggregate('user', { user: Type.String() }, []),
  getUsageOfUser: operation({
    method: 'GET',
    path: '/v1/usage/by-user/{user}',
    auth: 'tenant',
    tag: 'Usage',
    summary: `What one user spent, by model and day; in the last ${DEFAULT_RANGE_DAYS} days when no range is given`,
    query: Type.Object({ ...UsageFilters }),
    success: 200,
    response: Type.Object({ user: Type.String(), ...PersonDetail }),
  }),
  getUsageByEndCustomer: aggregate('end-customer', { end_customer: Type.String() }, []),
  getUsageOfEndCustomer: operation({
    method: 'GET',
    path: '/v1/usage/by-end-customer/{customer}',
    auth: 'tenant',
    tag: 'Usage',
    summary: `What one end customer cost, by model and day; in the last ${DEFAULT_RANGE_DAYS} days when no range is given`,
    query: Type.Object({ ...UsageFilters }),
    success: 200,
    response: Type.Object({ end_customer: Type.String(), ...PersonDetail }),
  }),
  getUsageTimeseries: operation({
    method: 'GET',
    path: '/v1/usage/timeseries',
    aliases: ['/v1/cost/timeseries'],
    auth: 'tenant',
    tag: 'Usage',
    summary: `Spend over time, buckets without traffic included; the last ${DEFAULT_RANGE_DAYS} days when no range is given, at most ${MAX_HOUR_SERIES_DAYS} days by the hour`,
    query: Type.Object({
      ...UsageFilters,
      bucket: Type.Optional(oneOf(['day', 'hour'], { default: 'day' })),
    }),
    success: 200,
    response: Type.Object({ data: Type.Array(BucketFigures) }),
  }),
};
