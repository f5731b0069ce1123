import sql, { type Sql } from 'sql-template-tag';
import { UNKNOWN_MODEL } from '../../contract/usage.ts';
import type { Period, PeriodBounds } from '../domain/period.ts';
import type { QuotaDimension } from '../domain/quotas.ts';
import type { Db } from './database.ts';

export interface QuotaRow {
  id: string;
  dimension_type: QuotaDimension;
  dimension_value: string;
  period: Period;
  limit_microdollars: number;
  alert_thresholds: number[];
  enabled: boolean;
  created_at: Date;
  updated_at: Date;
}

const columns = sql`
  id, dimension_type, dimension_value, period, limit_microdollars, alert_thresholds, enabled,
  created_at, updated_at`;

export async function countQuotas(db: Db, tenantId: string): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) from spend_quotas where tenant_id = ${tenantId}`);
  return rows[0]!.count;
}

export async function insertQuota(
  db: Db,
  tenantId: string,
  draft: Omit<QuotaRow, 'created_at' | 'updated_at'> & { at: Date },
): Promise<QuotaRow> {
  const rows = await db.query<QuotaRow>(sql`
    insert into spend_quotas
      (tenant_id, id, dimension_type, dimension_value, period, limit_microdollars, alert_thresholds, enabled,
       created_at, updated_at)
    values (${tenantId}, ${draft.id}, ${draft.dimension_type}, ${draft.dimension_value}, ${draft.period},
            ${draft.limit_microdollars}, ${draft.alert_thresholds}, ${draft.enabled}, ${draft.at}, ${draft.at})
    returning ${columns}`);
  return rows[0]!;
}

export async function listQuotas(db: Db, tenantId: string): Promise<QuotaRow[]> {
  return db.query<QuotaRow>(sql`
    select ${columns} from spend_quotas where tenant_id = ${tenantId} order by id desc`);
}

export async function findQuota(db: Db, tenantId: string, id: string): Promise<QuotaRow | null> {
  const rows = await db.query<QuotaRow>(sql`
    select ${columns} from spend_quotas where tenant_id = ${tenantId} and id = ${id}`);
  return rows[0] ?? null;
}

/**
 * Has the quota looked at anew. Switched on again it is as if nobody had looked before: what was passed
 * while it was off is told once, by its highest threshold. Null leaves a column as it is.
 */
export async function updateQuota(
  db: Db,
  tenantId: string,
  id: string,
  change: { limit: number | null; thresholds: number[] | null; enabled: boolean | null; at: Date },
): Promise<QuotaRow | null> {
  const rows = await db.query<QuotaRow>(sql`
    update spend_quotas
       set limit_microdollars = coalesce(${change.limit}, limit_microdollars),
           alert_thresholds = coalesce(${change.thresholds}, alert_thresholds),
           enabled = coalesce(${change.enabled}, enabled),
           told_period_start = case when ${change.enabled ?? false} and not enabled then null
                                    else told_period_start end,
           checked_sequence = null,
           updated_at = ${change.at}
     where tenant_id = ${tenantId} and id = ${id}
    returning ${columns}`);
  return rows[0] ?? null;
}

export async function deleteQuota(db: Db, tenantId: string, id: string): Promise<QuotaRow | null> {
  const rows = await db.query<QuotaRow>(sql`
    delete from spend_quotas where tenant_id = ${tenantId} and id = ${id} returning ${columns}`);
  return rows[0] ?? null;
}

/** Whether a rollup row `used`, of any of the tables that know all dimensions, counts against `quota`. */
const COUNTS: Sql = sql`
  case quota.dimension_type
    when 'model' then coalesce(nullif(used.model_id, ''), ${UNKNOWN_MODEL}) = quota.dimension_value
    when 'team' then used.team_id = quota.dimension_value
    when 'service' then used.service_name = quota.dimension_value
    else true
  end`;

/** What the rollups say was spent of `quota` in a period, which is whole UTC days. */
function spendIn(bounds: PeriodBounds): Sql {
  const inPeriod = sql`used.day >= ${dayOf(bounds.startMs)} and used.day < ${dayOf(bounds.endMs)}`;
  return sql`
    case quota.dimension_type
      when 'end_customer' then (
        select coalesce(sum(used.cost_microdollars), 0)::bigint
          from usage_daily_end_customers used
         where used.tenant_id = quota.tenant_id and used.end_customer = quota.dimension_value and ${inPeriod})
      else (
        select coalesce(sum(used.cost_microdollars), 0)::bigint
          from usage_daily used
         where used.tenant_id = quota.tenant_id and ${inPeriod} and ${COUNTS})
    end`;
}

/**
 * What was spent of a quota, and since when there are requests of its kind. Customers are known by the day
 * only; their first day cannot have begun before the tenant's first hour.
 */
export async function findQuotaSpend(
  db: Db,
  tenantId: string,
  id: string,
  bounds: PeriodBounds,
): Promise<{ spend_microdollars: number; first_usage_at: Date | null }> {
  const rows = await db.query<{ spend_microdollars: number; first_usage_at: Date | null }>(sql`
    select ${spendIn(bounds)} as spend_microdollars,
           case quota.dimension_type
             when 'end_customer' then (
               select greatest(min(used.day)::timestamp at time zone 'UTC',
                               (select min(hour) from usage_hourly where tenant_id = quota.tenant_id))
                 from usage_daily_end_customers used
                where used.tenant_id = quota.tenant_id and used.end_customer = quota.dimension_value
               having count(*) > 0)
             else (
               select used.hour from usage_hourly used
                where used.tenant_id = quota.tenant_id and ${COUNTS}
                order by used.hour limit 1)
           end as first_usage_at
      from spend_quotas quota
     where quota.tenant_id = ${tenantId} and quota.id = ${id}`);
  return rows[0]!;
}

export interface QuotaToCheck extends QuotaRow {
  tenant_id: string;
  told_period_start: Date | null;
  told_threshold: number;
  /** Where the tenant's ledger ended when the spend was read. */
  ledger_sequence: number;
  spend_microdollars: number;
  team_name: string | null;
}

/**
 * The next quotas of a period that have something to look at: their tenant's ledger has grown, their period is
 * new, or they were changed. Locked until the transaction ends, so that a change made meanwhile waits and is
 * not lost; one that is locked is left for the next look.
 */
export async function listQuotasToCheck(
  db: Db,
  period: Period,
  bounds: PeriodBounds,
  after: { tenantId: string; id: string },
  limit: number,
): Promise<QuotaToCheck[]> {
  return db.query<QuotaToCheck>(sql`
    select quota.*, coalesce(head.sequence_number, 0) as ledger_sequence,
           ${spendIn(bounds)} as spend_microdollars,
           (select team.name from teams team
             where quota.dimension_type = 'team' and team.tenant_id = quota.tenant_id
               and team.id::text = quota.dimension_value) as team_name
      from spend_quotas quota
      join tenants tenant on tenant.tenant_id = quota.tenant_id and tenant.status = 'active'
      left join ledger_heads head on head.tenant_id = quota.tenant_id
     where quota.enabled and quota.period = ${period}
       and (quota.checked_sequence is distinct from coalesce(head.sequence_number, 0)
            or quota.told_period_start is distinct from ${new Date(bounds.startMs)})
       and (quota.tenant_id, quota.id) > (${after.tenantId}, ${after.id})
     order by quota.tenant_id, quota.id
     limit ${limit}
       for update of quota skip locked`);
}

/** Notes what was told; the rows are locked by `listQuotasToCheck`. */
export async function markQuotasChecked(
  db: Db,
  periodStartMs: number,
  checked: ReadonlyArray<{ tenant_id: string; id: string; told_threshold: number; ledger_sequence: number }>,
): Promise<void> {
  await db.query(sql`
    update spend_quotas
       set told_period_start = ${new Date(periodStartMs)},
           told_threshold = checked.told_threshold,
           checked_sequence = checked.ledger_sequence
      from json_to_recordset(${JSON.stringify(checked)}::json) as checked (
        tenant_id uuid, id uuid, told_threshold integer, ledger_sequence bigint)
     where spend_quotas.tenant_id = checked.tenant_id and spend_quotas.id = checked.id`);
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
