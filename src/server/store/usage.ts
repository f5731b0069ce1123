import sql, { empty, type Sql } from 'sql-template-tag';
import { UNKNOWN_MODEL } from '../../contract/usage.ts';
import type { DayRange } from '../domain/day-range.ts';
import type { Db } from './database.ts';

/** Whom a request was made for, as the caller's headers say. */
export type PersonKind = 'user' | 'end_customer';
export type UsageDimension = 'model' | 'team' | 'service' | PersonKind;

export interface Person {
  kind: PersonKind;
  name: string;
}

export interface UsageFilter {
  range: DayRange;
  teamId?: string | undefined;
  model?: string | undefined;
  service?: string | undefined;
  person?: Person;
}

export interface UsageFigures {
  requests: number;
  tokens_input: number;
  tokens_output: number;
  cost_microdollars: number;
}

export interface UsageTotals extends UsageFigures {
  tokens_cached: number;
  errors: number;
  average_latency_ms: number;
}

const DAILY = sql`usage_daily`;
/** The sums of each kind of person, and the column that names one there and in the request log. */
export const PERSON_ROLLUPS: Record<PersonKind, { table: Sql; name: Sql }> = {
  user: { table: sql`usage_daily_users`, name: sql`user_name` },
  end_customer: { table: sql`usage_daily_end_customers`, name: sql`end_customer` },
};
/** A dimension that a request does not have is the empty text in the rollups and null outside. */
const DIMENSIONS: Record<UsageDimension, { table: Sql; name: Sql }> = {
  model: { table: DAILY, name: sql`coalesce(nullif(model_id, ''), ${UNKNOWN_MODEL})` },
  team: { table: DAILY, name: sql`nullif(team_id, '')` },
  service: { table: DAILY, name: sql`nullif(service_name, '')` },
  ...PERSON_ROLLUPS,
};
const FIGURES = sql`
  coalesce(sum(requests), 0)::bigint as requests,
  coalesce(sum(tokens_input), 0)::bigint as tokens_input,
  coalesce(sum(tokens_output), 0)::bigint as tokens_output,
  coalesce(sum(cost_microdollars), 0)::bigint as cost_microdollars`;

function rollupOf(filter: UsageFilter): Sql {
  return filter.person ? PERSON_ROLLUPS[filter.person.kind].table : DAILY;
}

/** The model, team and service a rollup row must have. */
export function matchingRollup(filter: Omit<UsageFilter, 'range'>): Sql {
  return sql`
    ${filter.teamId === undefined ? empty : sql`and team_id = ${filter.teamId}`}
    ${filter.model === undefined ? empty : sql`and model_id in (${filter.model}, ${filter.model === UNKNOWN_MODEL ? '' : filter.model})`}
    ${filter.service === undefined ? empty : sql`and service_name = ${filter.service}`}
    ${filter.person === undefined ? empty : sql`and ${PERSON_ROLLUPS[filter.person.kind].name} = ${filter.person.name}`}`;
}

export async function findUsageTotals(db: Db, tenantId: string, filter: UsageFilter): Promise<UsageTotals> {
  const rows = await db.query<UsageTotals>(sql`
    select ${FIGURES},
           coalesce(sum(tokens_cached), 0)::bigint as tokens_cached,
           coalesce(sum(requests) filter (where status_code >= 400), 0)::bigint as errors,
           coalesce(round(sum(latency_total_ms) / nullif(sum(requests), 0)), 0)::bigint as average_latency_ms
      from usage_daily
     where tenant_id = ${tenantId} and day between ${filter.range.from} and ${filter.range.to}
       ${matchingRollup(filter)}`);
  return rows[0]!;
}

/** One row per value of a dimension, most expensive first, and how many values there are. */
export async function listUsageByDimension(
  db: Db,
  tenantId: string,
  dimension: UsageDimension,
  filter: UsageFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: Array<UsageFigures & { name: string | null }>; total: number }> {
  const { table, name } = DIMENSIONS[dimension];
  const rows = await db.query<UsageFigures & { name: string | null; total: number }>(sql`
    with named as (
      select ${name} as name, ${FIGURES}
        from ${filter.person ? rollupOf(filter) : table}
       where tenant_id = ${tenantId} and day between ${filter.range.from} and ${filter.range.to}
         ${matchingRollup(filter)}
       group by 1),
    paged as (
      select * from named order by cost_microdollars desc, requests desc, name
       limit ${page.limit} offset ${page.offset})
    select paged.*, counted.total
      from (select count(*) as total from named) counted left join paged on true
     order by cost_microdollars desc, requests desc, name`);
  // Past the last row the join has the count alone.
  return { rows: rows.filter((row) => row.requests !== null), total: rows[0]!.total };
}

/** One row per UTC day of the range, days without traffic included. */
export async function listUsageByDay(
  db: Db,
  tenantId: string,
  filter: UsageFilter,
): Promise<Array<UsageFigures & { bucket: Date }>> {
  return db.query(sql`
    with used as (
      select day, ${FIGURES}
        from ${rollupOf(filter)}
       where tenant_id = ${tenantId} and day between ${filter.range.from} and ${filter.range.to}
         ${matchingRollup(filter)}
       group by day)
    select series at time zone 'UTC' as bucket,
           coalesce(requests, 0) as requests, coalesce(tokens_input, 0) as tokens_input,
           coalesce(tokens_output, 0) as tokens_output, coalesce(cost_microdollars, 0) as cost_microdollars
      from generate_series(${filter.range.from}::timestamp, ${filter.range.to}::timestamp, interval '1 day') series
      left join used on used.day = series
     order by series`);
}

/** One row per hour of the range, hours without traffic included. */
export async function listUsageByHour(
  db: Db,
  tenantId: string,
  filter: Omit<UsageFilter, 'person'>,
): Promise<Array<UsageFigures & { bucket: Date }>> {
  const { from, to } = filter.range;
  return db.query(sql`
    with used as (
      select hour, ${FIGURES}
        from usage_hourly
       where tenant_id = ${tenantId}
         and hour >= ${from}::timestamp at time zone 'UTC'
         and hour < (${to}::timestamp + interval '1 day') at time zone 'UTC'
         ${matchingRollup(filter)}
       group by hour)
    select series at time zone 'UTC' as bucket,
           coalesce(requests, 0) as requests, coalesce(tokens_input, 0) as tokens_input,
           coalesce(tokens_output, 0) as tokens_output, coalesce(cost_microdollars, 0) as cost_microdollars
      from generate_series(${from}::timestamp, ${to}::timestamp + interval '23 hours', interval '1 hour') series
      left join used on used.hour = series at time zone 'UTC'
     order by series`);
}

/** Whether any request ever named this user or customer. */
export async function isPersonKnown(db: Db, tenantId: string, { kind, name }: Person): Promise<boolean> {
  const rollup = PERSON_ROLLUPS[kind];
  const rows = await db.query<{ known: boolean }>(sql`
    select exists (
      select from ${rollup.table} where tenant_id = ${tenantId} and ${rollup.name} = ${name}) as known`);
  return rows[0]!.known;
}

/** Deleted teams included: what they spent is still theirs. */
export async function listTeamNames(
  db: Db,
  tenantId: string,
  teamIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.query<{ id: string; name: string }>(sql`
    select id, name from teams where tenant_id = ${tenantId} and id = any(${teamIds}::uuid[])`);
  return new Map(rows.map((row) => [row.id, row.name]));
}
