import sql from 'sql-template-tag';
import type { AnomalyDimension } from '../domain/anomalies.ts';
import type { Db } from './database.ts';

/** Active tenants who spent at least so much in one of the hours from `sinceHour` on. */
export async function listTenantsWithSpend(
  db: Db,
  sinceHour: Date,
  floorMicrodollars: number,
): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(sql`
    select tenant_id
      from tenants
     where status = 'active'
       and exists (
         select from usage_hourly
          where usage_hourly.tenant_id = tenants.tenant_id and hour >= ${sinceHour}
          group by hour
         having sum(cost_microdollars) >= ${floorMicrodollars})
     order by tenant_id`);
  return rows.map((row) => row.tenant_id);
}

export interface SpendRow {
  dimension: AnomalyDimension;
  value: string;
  hour: Date;
  cost_microdollars: number;
}

/** What the tenant, each team, service and model spent in these hours. */
export async function listSpendOfHours(
  db: Db,
  tenantId: string,
  hours: readonly Date[],
): Promise<SpendRow[]> {
  return db.query<SpendRow>(sql`
    select case when grouping(team_id) = 0 then 'team'
                when grouping(service_name) = 0 then 'service'
                when grouping(model_id) = 0 then 'model'
                else 'tenant_total' end as dimension,
           coalesce(team_id, service_name, model_id, '') as value,
           hour, sum(cost_microdollars)::bigint as cost_microdollars
      from usage_hourly
     where tenant_id = ${tenantId} and hour = any (${hours}::timestamptz[])
     group by hour, grouping sets ((), (team_id), (service_name), (model_id))`);
}

export interface FirstDay {
  dimension: AnomalyDimension;
  value: string;
  first_day: string;
}

/** Since which day, of those from `sinceDay` on, the tenant and each of its parts is known. */
export async function listFirstDays(db: Db, tenantId: string, sinceDay: string): Promise<FirstDay[]> {
  return db.query<FirstDay>(sql`
    select case when grouping(team_id) = 0 then 'team'
                when grouping(service_name) = 0 then 'service'
                when grouping(model_id) = 0 then 'model'
                else 'tenant_total' end as dimension,
           coalesce(team_id, service_name, model_id, '') as value,
           min(day) as first_day
      from usage_daily
     where tenant_id = ${tenantId} and day >= ${sinceDay}
     group by grouping sets ((), (team_id), (service_name), (model_id))`);
}
