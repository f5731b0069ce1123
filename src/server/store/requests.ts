import sql, { empty, type Sql } from 'sql-template-tag';
import { UNKNOWN_MODEL } from '../../contract/usage.ts';
import type { Usage } from '../domain/usage.ts';
import type { Db } from './database.ts';
import { matchingRollup, type UsageFilter } from './usage.ts';

export interface RequestFilter extends Omit<UsageFilter, 'person'> {
  status?: number | undefined;
}

/** The columns of the log and of its export; `RequestDetailRow` has them all. */
export interface RequestLogRow {
  id: string;
  created_at: Date;
  provider: string;
  model_requested: string | null;
  model_id: string | null;
  endpoint: string;
  tokens_input: number;
  tokens_output: number;
  cost_microdollars: number;
  cost_status: 'priced' | 'free' | 'unpriced';
  usage_source: 'provider' | 'estimated' | 'none';
  latency_total_ms: number;
  status_code: number;
  environment: string;
  team_id: string | null;
  service_name: string | null;
  user_name: string | null;
  end_customer: string | null;
  agent: string | null;
}

export interface RequestDetailRow extends RequestLogRow {
  model_family: string | null;
  method: string;
  stream: boolean;
  api_key_id: string;
  latency_first_byte_ms: number | null;
  tags: Record<string, string>;
  headers: Record<string, string>;
  usage: Usage;
  region: string | null;
  /** As stored; null when it was charged by none. */
  price: Record<string, unknown> | null;
  service_tier: string | null;
  price_id: string | null;
  interrupted: boolean;
  refusal: string | null;
  anomalies: string[];
  sequence_number: number | null;
  record_hash: string | null;
}

/** An hour in which matching requests were made, and how many. */
export interface RequestHour {
  hour: Date;
  requests: number;
}

const LOG_COLUMNS = sql`
  id, created_at, provider, model_requested, model_id, endpoint, tokens_input, tokens_output,
  cost_microdollars, cost_status, usage_source, latency_total_ms, status_code, environment,
  team_id, service_name, user_name, end_customer, agent`;

function matchingRollupStatus(filter: RequestFilter): Sql {
  return sql`${matchingRollup(filter)} ${filter.status === undefined ? empty : sql`and status_code = ${filter.status}`}`;
}

function matchingRequest(filter: RequestFilter): Sql {
  return sql`
    ${filter.teamId === undefined ? empty : sql`and team_id = ${filter.teamId}`}
    ${filter.model === undefined ? empty : sql`and coalesce(model_id, '') in (${filter.model}, ${filter.model === UNKNOWN_MODEL ? '' : filter.model})`}
    ${filter.service === undefined ? empty : sql`and service_name = ${filter.service}`}
    ${filter.status === undefined ? empty : sql`and status_code = ${filter.status}`}`;
}

/**
 * How many requests match, and which hours hold those of one page, newest first. The log itself is not
 * touched: running sums over the daily rollup find the page's days, those over the hourly one its hours, so
 * neither a long log nor a deep offset nor a rare filter makes it slow. `skip` is how many matches of the
 * first hour lie before the page. Days that retention has taken from the log do not count.
 */
export async function findRequestHours(
  db: Db,
  tenantId: string,
  filter: RequestFilter,
  page: { limit: number; offset: number },
): Promise<{ total: number; skip: number; hours: RequestHour[] }> {
  const firstDay = await findFirstDay(db, tenantId);
  if (firstDay === null) return { total: 0, skip: 0, hours: [] };
  const end = page.offset + page.limit;
  const rows = await db.query<RequestHour & { total: number; through: number }>(sql`
    with days as (
      select day, sum(requests)::bigint as requests, (sum(sum(requests)) over (order by day desc))::bigint as through
        from usage_daily
       where tenant_id = ${tenantId}
         and day between greatest(${filter.range.from}::date, ${firstDay}::date) and ${filter.range.to}
         ${matchingRollupStatus(filter)}
       group by day),
    page_days as (
      select day, through - requests as before from days
       where through > ${page.offset} and through - requests < ${end}),
    hours as (
      select hour, hourly.requests,
             ((select min(before) from page_days) + sum(hourly.requests) over (order by hour desc))::bigint as through
        from page_days
       cross join lateral (
         select hour, sum(requests)::bigint as requests
           from usage_hourly
          where tenant_id = ${tenantId}
            and hour >= day::timestamp at time zone 'UTC' and hour < (day + 1)::timestamp at time zone 'UTC'
            ${matchingRollupStatus(filter)}
          group by hour) hourly)
    select total, hour, requests, through
      from (select coalesce(max(through), 0) as total from days) counted
      left join hours on through > ${page.offset} and through - requests < ${end}
     order by hour desc`);
  const hours = rows.filter((row) => row.hour !== null);
  const first = hours[0];
  return {
    total: rows[0]!.total,
    skip: first ? page.offset - (first.through - first.requests) : 0,
    hours: hours.map(({ hour, requests }) => ({ hour, requests })),
  };
}

/** Asked apart, so that the planner sees how many days the sums above are made of. */
async function findFirstDay(db: Db, tenantId: string): Promise<string | null> {
  const rows = await db.query<{ first_day: string }>(sql`
    select (created_at at time zone 'UTC')::date as first_day
      from requests where tenant_id = ${tenantId} order by id limit 1`);
  return rows[0]?.first_day ?? null;
}

/** Matching requests of the hours given, newest first; ids are time-ordered, so an hour is a range of ids. */
export async function listRequestsInHours(
  db: Db,
  tenantId: string,
  filter: RequestFilter,
  hours: readonly RequestHour[],
  page: { limit: number; skip: number; beforeId?: string | undefined },
): Promise<RequestLogRow[]> {
  return db.query<RequestLogRow>(sql`
    select hourly.*
      from unnest(${hours.map((row) => row.hour)}::timestamptz[]) hour
     cross join lateral (
       select ${LOG_COLUMNS}
         from requests
        where tenant_id = ${tenantId}
          and id >= first_id_at(hour) and id < first_id_at(hour + interval '1 hour')
          ${page.beforeId === undefined ? empty : sql`and id < ${page.beforeId}`}
          ${matchingRequest(filter)}
        order by id desc
        limit ${page.skip + page.limit}) hourly
     order by id desc
     limit ${page.limit} offset ${page.skip}`);
}

export async function findRequest(db: Db, tenantId: string, id: string): Promise<RequestDetailRow | null> {
  const rows = await db.query<RequestDetailRow>(sql`
    select ${LOG_COLUMNS}, model_family, method, stream, api_key_id, latency_first_byte_ms, tags, headers,
           usage, service_tier, region, price_id,
           (select price from prices where prices.id = requests.price_id) as price, interrupted, refusal, anomalies,
           sequence_number, record_hash
      from requests
     where tenant_id = ${tenantId} and id = ${id}`);
  return rows[0] ?? null;
}

/** The request log from this UTC day on is kept; the ledger and the rollups keep what they say of the rest. */
export async function forgetRequestsBefore(db: Db, day: string): Promise<void> {
  await db.query(sql`select forget_requests_before(${day}::date)`);
}
