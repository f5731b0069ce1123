import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../contract/operation.ts';
import {
  DEFAULT_RANGE_DAYS,
  MAX_AGGREGATE_ROWS,
  MAX_DAY_SERIES_DAYS,
  MAX_HOUR_SERIES_DAYS,
  type usageOperations,
} from '../../contract/usage.ts';
import { daysIn, readDayRange, readRecentDayRange } from '../domain/day-range.ts';
import type { Db } from '../store/database.ts';
import { findRequest, findRequestHours, listRequestsInHours, type RequestFilter } from '../store/requests.ts';
import {
  findUsageTotals,
  isPersonKnown,
  listTeamNames,
  listUsageByDay,
  listUsageByDimension,
  listUsageByHour,
  type PersonKind,
  type UsageDimension,
  type UsageFigures,
  type UsageFilter,
} from '../store/usage.ts';
import type { Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';
import { requestDetail, requestRow, requestsCsv } from './request-log.ts';

const TOP_ROWS = 5;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** PostgreSQL cannot hold it in text, so nobody can have that name. */
const NUL = '\u0000';

interface FilterQuery {
  from?: string | undefined;
  to?: string | undefined;
  team_id?: string | undefined;
  model?: string | undefined;
  service?: string | undefined;
}

export function usageApi(parts: ApiParts): Handlers<typeof usageOperations> {
  const recentFilter = (query: FilterQuery): UsageFilter | Refusal => {
    const range = readRecentDayRange(query, parts.nowMs(), DEFAULT_RANGE_DAYS);
    return isRefusal(range) ? range : { range, ...dimensionsOf(query) };
  };

  async function byDimension(
    dimension: UsageDimension,
    call: { query: FilterQuery & { limit?: number; offset?: number }; caller: TenantCaller },
  ) {
    const { query, caller } = call;
    const filter = recentFilter(query);
    if (isRefusal(filter)) return filter;
    const limit = Math.min(query.limit ?? MAX_AGGREGATE_ROWS, MAX_AGGREGATE_ROWS);
    return parts.database.asTenant(caller.tenantId, (db) =>
      listUsageByDimension(db, caller.tenantId, dimension, filter, { limit, offset: query.offset ?? 0 }),
    );
  }

  async function ofPerson(kind: PersonKind, name: string, query: FilterQuery, { tenantId }: TenantCaller) {
    const asked = recentFilter(query);
    if (isRefusal(asked)) return asked;
    if (daysIn(asked.range) > MAX_DAY_SERIES_DAYS) return refuseLongSeries(MAX_DAY_SERIES_DAYS);
    if (name.includes(NUL)) return refuse('not_found');
    const filter = { ...asked, person: { kind, name } };
    return parts.database.asTenant(tenantId, async (db) => {
      if (!(await isPersonKnown(db, tenantId, kind, name))) return refuse('not_found');
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

  return {
    async getUsageSummary({ query, caller }) {
      const filter = recentFilter(query);
      if (isRefusal(filter)) return filter;
      return parts.database.asTenant(caller.tenantId, (db) => summarize(db, caller.tenantId, filter));
    },

    async listRequests({ query, caller }) {
      const range = readDayRange(query);
      if (isRefusal(range)) return range;
      const filter: RequestFilter = { range, ...dimensionsOf(query), status: query.status };
      if (query.format === 'csv') return requestsCsv(parts, caller.tenantId, filter);
      const offset = query.offset ?? 0;
      const limit = Math.min(query.limit ?? DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT);
      return parts.database.asTenant(caller.tenantId, async (db) => {
        const found = await findRequestHours(db, caller.tenantId, filter, { limit, offset });
        const page = { limit, skip: found.skip };
        const rows = await listRequestsInHours(db, caller.tenantId, filter, found.hours, page);
        return { data: rows.map(requestRow), total: found.total, limit, offset };
      });
    },

    async getRequest({ params, caller }) {
      if (!UUID.test(params.id!)) return refuse('not_found');
      const row = await parts.database.asTenant(caller.tenantId, (db) =>
        findRequest(db, caller.tenantId, params.id!),
      );
      return row ? requestDetail(row) : refuse('not_found');
    },

    async getUsageByModel(call) {
      const found = await byDimension('model', call);
      if (isRefusal(found)) return found;
      const data = found.rows.map(({ name, ...figures }) => ({ model_id: name!, ...withUsd(figures) }));
      return { data, total: found.total };
    },

    async getUsageByTeam(call) {
      const found = await byDimension('team', call);
      if (isRefusal(found)) return found;
      const { tenantId } = call.caller;
      const data = await parts.database.asTenant(tenantId, (db) => withTeamNames(db, tenantId, found.rows));
      return { data, total: found.total };
    },

    async getUsageByService(call) {
      const found = await byDimension('service', call);
      if (isRefusal(found)) return found;
      const data = found.rows.map(({ name, ...figures }) => ({ service_name: name, ...withUsd(figures) }));
      return { data, total: found.total };
    },

    async getUsageByUser(call) {
      const found = await byDimension('user', call);
      if (isRefusal(found)) return found;
      const data = found.rows.map(({ name, ...figures }) => ({ user: name!, ...withUsd(figures) }));
      return { data, total: found.total };
    },

    async getUsageOfUser({ params, query, caller }) {
      const found = await ofPerson('user', params.user!, query, caller);
      return isRefusal(found) ? found : { user: params.user!, ...found };
    },

    async getUsageByEndCustomer(call) {
      const found = await byDimension('end_customer', call);
      if (isRefusal(found)) return found;
      const data = found.rows.map(({ name, ...figures }) => ({ end_customer: name!, ...withUsd(figures) }));
      return { data, total: found.total };
    },

    async getUsageOfEndCustomer({ params, query, caller }) {
      const found = await ofPerson('end_customer', params.customer!, query, caller);
      return isRefusal(found) ? found : { end_customer: params.customer!, ...found };
    },

    async getUsageTimeseries({ query, caller }) {
      const filter = recentFilter(query);
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

function dimensionsOf(query: FilterQuery) {
  return { teamId: query.team_id?.toLowerCase(), model: query.model, service: query.service };
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
