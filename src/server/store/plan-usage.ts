import sql from 'sql-template-tag';
import { planAlertCause } from '../domain/plan-usage.ts';
import type { Db } from './database.ts';

export interface PlanUsage {
  tenant_id: string;
  plan_tier: string;
  included_requests: number;
  used_requests: number;
  percent: number;
}

/** Tenants that have used so many percent of a month's included requests and were not told so yet. */
export async function listPlansToTell(
  db: Db,
  month: string,
  percents: readonly number[],
  limit: number,
): Promise<PlanUsage[]> {
  const thresholds = percents.map((percent) => ({ percent, cause: planAlertCause(month, percent) }));
  return db.query<PlanUsage>(sql`
    select tenant.tenant_id, tenant.plan_tier, tenant.included_requests, used.requests as used_requests,
           threshold.percent
      from usage_months used
      join tenants tenant on tenant.tenant_id = used.tenant_id
     cross join json_to_recordset(${JSON.stringify(thresholds)}::json) as threshold (percent integer, cause text)
     where used.month = ${month} and tenant.status = 'active' and tenant.included_requests > 0
       and used.requests * 100 >= tenant.included_requests * threshold.percent
       and not exists (
             select from alerts where alerts.tenant_id = used.tenant_id and alerts.cause = threshold.cause)
     order by tenant.tenant_id, threshold.percent
     limit ${limit}`);
}
