import sql, { empty, type Sql } from 'sql-template-tag';
import { MAX_SEARCHED_REQUESTS, UNKNOWN_MODEL } from '../../contract/usage.ts';
import type { Usage } from '../domain/usage.ts';
import type { Db } from './database.ts';
import { matchingRollup, PERSON_ROLLUPS, type Person, type UsageFilter } from './usage.ts';

export interface RequestFilter extends Omit<UsageFilter, 'person'> {
  user?: string | undefined;
  endCustomer?: string | undefined;
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

/** A stretch of time in which matching requests were made, up to but without its end, and how many. */
export interface RequestSpan {
  from: Date;
  to: Date;
  requests: number;
}

/** How many requests match, which spans hold those of one page, newest first, and how many of them come before it. */
interface FoundRequests {
  total: number;
  skip: number;
  spans: RequestSpan[];
}

interface Page {
  limit: number;
  offset: number;
}

const NOTHING: FoundRequests = { total: 0, skip: 0, spans: [] };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

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
    ${filter.user === undefined ? empty : sql`and user_name = ${filter.user}`}
    ${filter.endCustomer === undefined ? empty : sql`and end_customer = ${filter.endCustomer}`}
    ${filter.status === undefined ? empty : sql`and status_code = ${filter.status}`}`;
}

/**
 * Where the requests of a page are. Days that retention has taken from the log do not count. Neither a long log
 * nor a deep offset nor a rare filter makes it slow: what the rollups know is read from them, and what they do
 * not, the statuses of one person and the requests of one for another, has a bound.
 */
export async function findRequestSpans(
  db: Db,
  tenantId: string,
  filter: RequestFilter,
  page: Page,
): Promise<FoundRequests> {
  const firstDay = await findFirstDay(db, tenantId);
  if (firstDay === null) return NOTHING;
  const { range } = filter;
  const asked = { ...filter, range: range.from > firstDay ? range : { ...range, from: firstDay } };
  const person = personOf(filter);
  if (person === null) return findHours(db, tenantId, asked, page);
  const isSummed =
    filter.status === undefined && (filter.user === undefined || filter.endCustomer === undefined);
  return isSummed
    ? findDaysOfPerson(db, tenantId, { ...asked, person }, page)
    : searchNewestOfPerson(db, tenantId, asked, person, page);
}

/** Whose requests are looked at; of two, those of the user, who has fewer. */
function personOf({ user, endCustomer }: RequestFilter): Person | null {
  if (user !== undefined) return { kind: 'user', name: user };
  return endCustomer === undefined ? null : { kind: 'end_customer', name: endCustomer };
}

/** Running sums over the daily rollup find the page's days, those over the hourly one its hours. */
async function findHours(
  db: Db,
  tenantId: string,
  filter: RequestFilter,
  page: Page,
): Promise<FoundRequests> {
  const end = page.offset + page.limit;
  const rows = await db.query<{ hour: Date | null; requests: number; total: number; through: number }>(sql`
    with days as (
      select day, sum(requests)::bigint as requests, (sum(sum(requests)) over (order by day desc))::bigint as through
        from usage_daily
       where tenant_id = ${tenantId} and day between ${filter.range.from} and ${filter.range.to}
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
  return foundIn(
    rows.map(({ hour: from, ...row }) => ({ ...row, from })),
    HOUR_MS,
    page,
  );
}

/** The same by days: the rollups of persons know no hours, and in a day one person makes few requests. */
async function findDaysOfPerson(
  db: Db,
  tenantId: string,
  filter: UsageFilter & { person: Person },
  page: Page,
): Promise<FoundRequests> {
  const rows = await db.query<{ day: Date | null; requests: number; total: number; through: number }>(sql`
    with days as (
      select day, sum(requests)::bigint as requests, (sum(sum(requests)) over (order by day desc))::bigint as through
        from ${PERSON_ROLLUPS[filter.person.kind].table}
       where tenant_id = ${tenantId} and day between ${filter.range.from} and ${filter.range.to}
         ${matchingRollup(filter)}
       group by day)
    select total, day::timestamp at time zone 'UTC' as day, requests, through
      from (select coalesce(max(through), 0) as total from days) counted
      left join days on through > ${page.offset} and through - requests < ${page.offset + page.limit}
     order by day desc`);
  return foundIn(
    rows.map(({ day: from, ...row }) => ({ ...row, from })),
    DAY_MS,
    page,
  );
}

/** Rows of spans with what came through up to the end of each; a page past the end has one row without a span. */
function foundIn(
  rows: ReadonlyArray<{ from: Date | null; requests: number; through: number; total: number }>,
  lengthMs: number,
  page: Page,
): FoundRequests {
  const spans = rows.flatMap(({ from, requests }) =>
    from === null ? [] : [{ from, to: new Date(from.getTime() + lengthMs), requests }],
  );
  const first = rows[0]!;
  const skip = first.from === null ? 0 : page.offset - (first.through - first.requests);
  return { total: first.total, skip, spans };
}

/** Counted in the log itself: the newest requests of the person, and of those the ones that match. */
async function searchNewestOfPerson(
  db: Db,
  tenantId: string,
  filter: RequestFilter,
  person: Person,
  page: Page,
): Promise<FoundRequests> {
  const rows = await db.query<{ total: number; oldest: string; newest: string }>(sql`
    with newest as (
      select id, team_id, model_id, service_name, user_name, end_customer, status_code
        from requests
       where tenant_id = ${tenantId} and ${PERSON_ROLLUPS[person.kind].name} = ${person.name}
         and id >= first_id_at(${filter.range.from}::timestamp at time zone 'UTC')
         and id < first_id_at((${filter.range.to}::date + 1)::timestamp at time zone 'UTC')
       order by id desc
       limit ${MAX_SEARCHED_REQUESTS})
    select count(*) as total, min(id::text) as oldest, max(id::text) as newest
      from newest
     where true ${matchingRequest(filter)}`);
  const { total, oldest, newest } = rows[0]!;
  if (total <= page.offset) return { ...NOTHING, total };
  const span = { from: new Date(timeOf(oldest)), to: new Date(timeOf(newest) + 1), requests: total };
  return { total, skip: page.offset, spans: [span] };
}

/** The instant in a time-ordered id, in milliseconds. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** Asked apart, so that the planner sees how many days the sums above are made of. */
async function findFirstDay(db: Db, tenantId: string): Promise<string | null> {
  const rows = await db.query<{ first_day: string }>(sql`
    select (created_at at time zone 'UTC')::date as first_day
      from requests where tenant_id = ${tenantId} order by id limit 1`);
  return rows[0]?.first_day ?? null;
}

/** Matching requests of the spans given, newest first; ids are time-ordered, so a span is a range of ids. */
export async function listRequestsInSpans(
  db: Db,
  tenantId: string,
  filter: RequestFilter,
  spans: readonly RequestSpan[],
  page: { limit: number; skip: number; beforeId?: string | undefined },
): Promise<RequestLogRow[]> {
  return db.query<RequestLogRow>(sql`
    select matching.*
      from unnest(${spans.map((span) => span.from)}::timestamptz[], ${spans.map((span) => span.to)}::timestamptz[])
             as span (beginning, ending)
     cross join lateral (
       select ${LOG_COLUMNS}
         from requests
        where tenant_id = ${tenantId}
          and id >= first_id_at(beginning) and id < first_id_at(ending)
          ${page.beforeId === undefined ? empty : sql`and id < ${page.beforeId}`}
          ${matchingRequest(filter)}
        order by id desc
        limit ${page.skip + page.limit}) matching
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
