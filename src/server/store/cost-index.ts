import sql, { empty } from 'sql-template-tag';
import type { Provider } from '../../contract/providers.ts';
import { BINS_PER_DOUBLING, type IndexFigures, type IndexGroup } from '../domain/cost-index.ts';
import type { Db } from './database.ts';

export interface IndexModel {
  provider: Provider;
  model_id: string;
}

export interface BucketRow extends IndexModel, IndexFigures {
  day: string;
  model_family: string;
}

export interface ShareRow extends IndexModel {
  tenant_id: string;
  bin: number;
  requests: number;
  cost_microdollars: number;
}

/** The public answer must stay one that can be sent at once. */
const MAX_BUCKETS = 20_000;

export async function listBuckets(
  db: Db,
  filter: { fromDay: string; provider?: Provider | undefined; modelId?: string | undefined },
): Promise<BucketRow[]> {
  return db.query<BucketRow>(sql`
    select day, provider, model_id, model_family, avg_cost_microdollars, p50_cost_microdollars,
           p95_cost_microdollars, total_requests, tenant_count
      from cost_index_buckets
     where day >= ${filter.fromDay}
       ${filter.provider === undefined ? empty : sql`and provider = ${filter.provider}`}
       ${filter.modelId === undefined ? empty : sql`and model_id = ${filter.modelId}`}
     order by day desc, provider, model_id
     limit ${MAX_BUCKETS}`);
}

/**
 * Takes a tenant out of the index with the transaction that says so: what waits of it, every group it is in, and
 * the buckets made of them. The next build publishes what is left of these.
 */
export async function leaveCostIndex(db: Db, tenantId: string, at: Date): Promise<void> {
  // A build that is under way would put the tenant back.
  await lockCostIndex(db);
  await db.query(sql`
    insert into cost_index_left as earlier (tenant_id, day)
    values (${tenantId}, (${at}::timestamptz at time zone 'UTC')::date)
        on conflict (tenant_id) do update set day = greatest(earlier.day, excluded.day)`);
  await db.query(sql`delete from cost_index_hours where tenant_id = ${tenantId}`);
  await db.query(sql`delete from cost_index_grouped where tenant_id = ${tenantId}`);
  await db.query(sql`
    with gone as (
      delete from cost_index_groups where members @> array[${tenantId}::uuid] returning day, provider, model_id
    )
    delete from cost_index_buckets where (day, provider, model_id) in (select * from gone)`);
}

/** The same for everyone who shares no more, however they came to stop. */
export async function dropLeavers(db: Db, at: Date): Promise<void> {
  const leavers = await db.query<{ tenant_id: string }>(sql`
    select tenant_id from tenants
     where not (data_share_enabled and status = 'active')
       and tenant_id in (
         select tenant_id from cost_index_hours
          union
         select unnest(members) from cost_index_groups)`);
  for (const { tenant_id: tenantId } of leavers) await leaveCostIndex(db, tenantId, at);
}

/** One build at a time, until the transaction ends. */
export async function lockCostIndex(db: Db): Promise<void> {
  await db.query(sql`select pg_advisory_xact_lock(hashtext('gateway cost index'))`);
}

/** Who shares and had traffic in which hour of a day; hours summed before `recentFrom` are not asked for again. */
function dueHours(day: string, recentFrom: Date) {
  return sql`
    select tenants.tenant_id, busy.hour
      from tenants
     cross join lateral (
       select distinct hour from usage_hourly
        where usage_hourly.tenant_id = tenants.tenant_id
          and hour >= ${day}::timestamp at time zone 'UTC'
          and hour < (${day}::timestamp + interval '1 day') at time zone 'UTC') busy
     where data_share_enabled and status = 'active'
       and not exists (
         select from cost_index_left gone where gone.tenant_id = tenants.tenant_id and gone.day >= ${day})
       and (busy.hour >= ${recentFrom} or not exists (
         select from cost_index_hours known
          where known.tenant_id = tenants.tenant_id and known.hour = busy.hour))`;
}

export async function listDueHours(db: Db, day: string, recentFrom: Date): Promise<Date[]> {
  const rows = await db.query<{ hour: Date }>(sql`
    select distinct hour from (${dueHours(day, recentFrom)}) due order by hour`);
  return rows.map((row) => row.hour);
}

/**
 * Sums one hour of the sharing tenants' requests into bins. Models are named as the catalogue names them: a
 * tenant's own fine-tuned model would name the tenant.
 */
export async function sumIndexHour(db: Db, day: string, hour: Date, recentFrom: Date): Promise<void> {
  await db.query(sql`
    delete from cost_index_hours
     where hour = ${hour}
       and tenant_id in (select tenant_id from (${dueHours(day, recentFrom)}) due where due.hour = ${hour})`);
  await db.query(sql`
    insert into cost_index_hours (tenant_id, hour, provider, model_id, bin, requests, cost_microdollars)
    select logged.tenant_id, ${hour}, models.provider, models.model_id,
           floor(ln(cost_microdollars + 1) / ln(2::float8) * ${BINS_PER_DOUBLING})::smallint as bin,
           count(*), sum(cost_microdollars)
      from (select tenant_id from (${dueHours(day, recentFrom)}) due where due.hour = ${hour}) sharing
     cross join lateral (
       select tenant_id, price_id, cost_microdollars from requests
        where requests.tenant_id = sharing.tenant_id
          and id >= first_id_at(${hour}::timestamptz)
          and id < first_id_at(${hour}::timestamptz + interval '1 hour')
          and cost_status = 'priced' and status_code between 200 and 299
          and environment = 'production') logged
      join prices on prices.id = logged.price_id
      join models on models.id = prices.model
     group by logged.tenant_id, models.provider, models.model_id, bin`);
}

/** What of a day is in no group yet, model by model. */
export async function listWaitingShares(db: Db, day: string): Promise<ShareRow[]> {
  return db.query<ShareRow>(sql`
    select provider, model_id, tenant_id, bin, sum(requests)::bigint as requests,
           sum(cost_microdollars)::bigint as cost_microdollars
      from (
        select provider, model_id, tenant_id, bin, requests, cost_microdollars from cost_index_hours
         where ${hoursOf(day)}
         union all
        select provider, model_id, tenant_id, bin, -requests, -cost_microdollars from cost_index_grouped
         where day = ${day}) known
     group by provider, model_id, tenant_id, bin
    having sum(requests) > 0
     order by provider, model_id, tenant_id, bin`);
}

function hoursOf(day: string) {
  return sql`
    hour >= ${day}::timestamp at time zone 'UTC' and hour < (${day}::timestamp + interval '1 day') at time zone 'UTC'`;
}

/** All that is known of these tenants' day is in a group now. */
export async function markGrouped(
  db: Db,
  day: string,
  model: IndexModel,
  tenantIds: readonly string[],
): Promise<void> {
  await db.query(sql`
    insert into cost_index_grouped (tenant_id, day, provider, model_id, bin, requests, cost_microdollars)
    select tenant_id, ${day}, provider, model_id, bin, sum(requests), sum(cost_microdollars)
      from cost_index_hours
     where ${hoursOf(day)} and provider = ${model.provider} and model_id = ${model.model_id}
       and tenant_id = any (${tenantIds}::uuid[])
     group by tenant_id, provider, model_id, bin
        on conflict (tenant_id, day, provider, model_id, bin)
        do update set requests = excluded.requests, cost_microdollars = excluded.cost_microdollars`);
}

/** Each bin as the database keeps it; the figures are longer than its numbers. */
type StoredBin = [bin: number, weight: string, weightedCost: string];

export async function listGroups(db: Db, day: string, model: IndexModel): Promise<IndexGroup[]> {
  const rows = await db.query<{ members: string[]; bins: StoredBin[] }>(sql`
    select members::text[], bins from cost_index_groups
     where day = ${day} and provider = ${model.provider} and model_id = ${model.model_id}
     order by members`);
  return rows.map(({ members, bins }) => ({
    members,
    bins: bins.map(([bin, weight, weightedCost]) => ({
      bin,
      weight: BigInt(weight),
      weightedCost: BigInt(weightedCost),
    })),
  }));
}

export async function saveGroups(
  db: Db,
  day: string,
  model: IndexModel,
  groups: readonly IndexGroup[],
): Promise<void> {
  const rows = groups.map(({ members, bins }) => ({
    members: `{${members.join(',')}}`,
    bins: bins.map(({ bin, weight, weightedCost }): StoredBin => [bin, `${weight}`, `${weightedCost}`]),
  }));
  await db.query(sql`
    insert into cost_index_groups (day, provider, model_id, members, bins)
    select ${day}, ${model.provider}, ${model.model_id}, members, bins
      from json_to_recordset(${JSON.stringify(rows)}::json) as made (members uuid[], bins jsonb)
        on conflict (day, provider, model_id, members) do update set bins = excluded.bins`);
}

export async function publishBucket(db: Db, day: string, bucket: IndexModel & IndexFigures): Promise<void> {
  await db.query(sql`
    insert into cost_index_buckets (
      day, provider, model_id, model_family, avg_cost_microdollars, p50_cost_microdollars, p95_cost_microdollars,
      total_requests, tenant_count)
    select ${day}, provider, model_id, model_family, ${bucket.avg_cost_microdollars},
           ${bucket.p50_cost_microdollars}, ${bucket.p95_cost_microdollars}, ${bucket.total_requests},
           ${bucket.tenant_count}
      from models
     where provider = ${bucket.provider} and model_id = ${bucket.model_id}
        on conflict (day, provider, model_id)
        do update set avg_cost_microdollars = excluded.avg_cost_microdollars,
                      p50_cost_microdollars = excluded.p50_cost_microdollars,
                      p95_cost_microdollars = excluded.p95_cost_microdollars,
                      total_requests = excluded.total_requests,
                      tenant_count = excluded.tenant_count`);
}

/** Days before today that are still open: yesterday, and any that no node was there to close. */
export async function listOpenDays(db: Db, today: string): Promise<string[]> {
  const rows = await db.query<{ day: string }>(sql`
    select day from (
      select ${today}::date - 1 as day
       union
      select (hour at time zone 'UTC')::date from cost_index_hours) open
     where day < ${today}::date and day not in (select day from cost_index_closed_days)
     order by day`);
  return rows.map((row) => row.day);
}

/** Closes a day: what waits of it still has found no company, and is forgotten. */
export async function closeDay(db: Db, day: string): Promise<void> {
  await db.query(sql`insert into cost_index_closed_days (day) values (${day})`);
  await db.query(sql`delete from cost_index_hours where ${hoursOf(day)}`);
  await db.query(sql`delete from cost_index_grouped where day = ${day}`);
}

/** Buckets that a tenant has left and that still have groups. */
export async function listUnpublished(db: Db): Promise<Array<IndexModel & { day: string }>> {
  return db.query<IndexModel & { day: string }>(sql`
    select distinct day, provider, model_id from cost_index_groups
     where (day, provider, model_id) not in (select day, provider, model_id from cost_index_buckets)
     order by day, provider, model_id`);
}

/** The index shows a year; what is older is nobody's share any more. */
export async function deleteOldIndexDays(db: Db, before: string): Promise<void> {
  await db.query(sql`delete from cost_index_groups where day < ${before}`);
  await db.query(sql`delete from cost_index_left where day < ${before}`);
  await db.query(sql`delete from cost_index_closed_days where day < ${before}`);
  await db.query(sql`delete from cost_index_buckets where day < ${before}`);
}
