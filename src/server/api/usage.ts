import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import {
  DEFAULT_RANGE_DAYS,
  MAX_AGGREGATE_ROWS,
  MAX_DAY_SERIES_DAYS,
  MAX_HOUR_SERIES_DAYS,
  type usageOperations,
} from '../../contract/usage.ts';
import { daysIn, readRecentDayRange } from '../domain/day-range.ts';
import type { Db } from '../store/database.ts';
import {
  findUsageTotals,
  isPersonKnown,
  listTeamNames,
  listUsageByDay,
  listUsageByDimension,
  listUsageByHour,
  type Person,
  type UsageDimension,
  type UsageFigures,
  type UsageFilter,
} from '../store/usage.ts';
import type { Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';
import { dimensionsOf, requestLogApi, type UsageQuery } from './request-log.ts';

const TOP_ROWS = 5;
/** PostgreSQL cannot hold it in text, so nobody can have that name. */
const NUL = '\u0000';

/** What the aggregates have in common with every other report. */
interface AggregateCall {
  query: UsageQuery & { limit?: number; offset?: number };
  caller: TenantCaller;
}

export function usageApi(parts: ApiParts): Handlers<typeof usageOperations> {
  return {
    ...requestLogApi(parts),

    async getUsageSummary({ query, caller }) {
      const filter = recentFilter(parts, query);
      if (isRefusal(filter)) return filter;
      return parts.database.asTenant(caller.tenantId, (db) => summarize(db, caller.tenantId, filter));
    },

    getUsageByModel: byDimension(parts, 'model', (name) => ({ model_id: name! })),
    getUsageByService: byDimension(parts, 'service', (name) => ({ service_name: name })),
    getUsageByUser: byDimension(parts, 'user', (name) => ({ user: name! })),
    getUsageByEndCustomer: byDimension(parts, 'end_customer', (name) => ({ end_customer: name! })),

    async getUsageByTeam(call) {
      const found = await findByDimension(parts, 'team', call);
      if (isRefusal(found)) return found;
      const { tenantId } = call.caller;
      const data = await parts.database.asTenant(tenantId, (db) => withTeamNames(db, tenantId, found.rows));
      return { data, total: found.total };
    },

    async getUsageOfUser({ params, query, caller }) {
      const found = await findPerson(parts, { kind: 'user', name: params.user! }, query, caller);
      return isRefusal(found) ? found : { user: params.user!, ...found };
    },

    async getUsageOfEndCustomer({ params, query, caller }) {
      const found = await findPerson(parts, { kind: 'end_customer', name: params.customer! }, query, caller);
      return isRefusal(found) ? found : { end_customer: params.customer!, ...found };
    },

    async getUsageTimeseries({ query, caller }) {
      const filter = recentFilter(parts, query);
      if (isRefusal(filter)) return filter;
      const byHour = query.bucket === 'hour';
      const mostDays = byHour ? MAX_HOUR_SERIES_DAYS : MAX_DAY_SERIES_DAYS;
      if (daysIn(filter.range) > mostDays) return refuseLongSeries(mostDays);
      const list = byHour ? listUsageByHour : listUsageByDay;
      const rows = await parts.database.asTenant(caller.tenantId, (db) => list(db, caller.tenantId, filter));
      return { data: rows.map(bucketRow) };
    },
  };
}

function recentFilter(parts: ApiParts, query: UsageQuery): UsageFilter | Refusal {
  const range = readRecentDayRange(query, parts.nowMs(), DEFAULT_RANGE_DAYS);
  return isRefusal(range) ? range : { range, ...dimensionsOf(query) };
}

function byDimension<Fields>(
  parts: ApiParts,
  dimension: UsageDimension,
  fieldsOf: (name: string | null) => Fields,
) {
  return async (call: AggregateCall) => {
    const found = await findByDimension(parts, dimension, call);
    if (isRefusal(found)) return found;
    const data = found.rows.map(({ name, ...figures }) => ({ ...fieldsOf(name), ...withUsd(figures) }));
    return { data, total: found.total };
  };
}

async function findByDimension(
  parts: ApiParts,
  dimension: UsageDimension,
  { query, caller: { tenantId } }: AggregateCall,
) {
  const filter = recentFilter(parts, query);
  if (isRefusal(filter)) return filter;
  const limit = Math.min(query.limit ?? MAX_AGGREGATE_ROWS, MAX_AGGREGATE_ROWS);
  const page = { limit, offset: query.offset ?? 0 };
  return parts.database.asTenant(tenantId, (db) =>
    listUsageByDimension(db, tenantId, dimension, filter, page),
  );
}

async function findPerson(parts: ApiParts, person: Person, query: UsageQuery, { tenantId }: TenantCaller) {
  const asked = recentFilter(parts, query);
  if (isRefusal(asked)) return asked;
  if (daysIn(asked.range) > MAX_DAY_SERIES_DAYS) return refuseLongSeries(MAX_DAY_SERIES_DAYS);
  if (person.name.includes(NUL)) return refuse('not_found');
  const filter = { ...asked, person };
  return parts.database.asTenant(tenantId, async (db) => {
    if (!(await isPersonKnown(db, tenantId, person))) return refuse('not_found');
    const page = { limit: MAX_AGGREGATE_ROWS, offset: 0 };
    const models = await listUsageByDimension(db, tenantId, 'model', filter, page);
    const days = await listUsageByDay(db, tenantId, filter);
    return {
      ...withUsd(sumOf(days)),
      by_model: models.rows.map(({ name, ...figures }) => ({ model_id: name!, ...withUsd(figures) })),
      timeseries: days.map(bucketRow),
    };
  });
}

function refuseLongSeries(mostDays: number): Refusal {
  return refuse(
    'invalid_field',
    `The field "from" is not valid: this series covers at most ${mostDays} days; move "from" or "to".`,
  );
}

async function summarize(db: Db, tenantId: string, filter: UsageFilter) {
  const page = { limit: TOP_ROWS, offset: 0 };
  const totals = await findUsageTotals(db, tenantId, filter);
  const models = await listUsageByDimension(db, tenantId, 'model', filter, page);
  const teams = await listUsageByDimension(db, tenantId, 'team', filter, page);
  return {
    total_cost_microdollars: totals.cost_microdollars,
    total_cost_usd: formatUsd(totals.cost_microdollars),
    total_requests: totals.requests,
    total_tokens_input: totals.tokens_input,
    total_tokens_output: totals.tokens_output,
    total_tokens_cached: totals.tokens_cached,
    total_errors: totals.errors,
    average_latency_ms: totals.average_latency_ms,
    top_models: models.rows.map(({ name, ...figures }) => ({ model_id: name!, ...withUsd(figures) })),
    top_teams: await withTeamNames(db, tenantId, teams.rows),
  };
}

async function withTeamNames(
  db: Db,
  tenantId: string,
  rows: ReadonlyArray<UsageFigures & { name: string | null }>,
) {
  const ids = rows.flatMap(({ name }) => (name === null ? [] : [name]));
  const names = await listTeamNames(db, tenantId, ids);
  return rows.map(({ name: id, ...figures }) => ({
    team_id: id,
    team_name: id === null ? null : (names.get(id) ?? null),
    ...withUsd(figures),
  }));
}

function withUsd({ requests, tokens_input, tokens_output, cost_microdollars }: UsageFigures) {
  return {
    requests,
    tokens_input,
    tokens_output,
    cost_microdollars,
    cost_usd: formatUsd(cost_microdollars),
  };
}

function bucketRow(row: UsageFigures & { bucket: Date }) {
  return { bucket: row.bucket.toISOString(), ...withUsd(row) };
}

function sumOf(rows: readonly UsageFigures[]): UsageFigures {
  const sum = { requests: 0, tokens_input: 0, tokens_output: 0, cost_microdollars: 0 };
  for (const row of rows) {
    sum.requests += row.requests;
    sum.tokens_input += row.tokens_input;
    sum.tokens_output += row.tokens_output;
    sum.cost_microdollars += row.cost_microdollars;
  }
  return sum;
}
