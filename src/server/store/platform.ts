import sql from 'sql-template-tag';
import type { Db } from './database.ts';

export interface PlatformFigures {
  requests: number;
  errors: number;
  tokens_input: number;
  tokens_output: number;
  cost_microdollars: number;
}

export interface TenantCounts {
  total: number;
  active: number;
  suspended: number;
  cancelled: number;
  created_30_days: number;
  with_traffic_30_days: number;
}

export async function countTenants(db: Db, since: Date, fromDay: string): Promise<TenantCounts> {
  const rows = await db.query<TenantCounts>(sql`
    select count(*) as total,
           count(*) filter (where status = 'active') as active,
           count(*) filter (where status = 'suspended') as suspended,
           count(*) filter (where status = 'cancelled') as cancelled,
           count(*) filter (where created_at >= ${since}) as created_30_days,
           count(*) filter (where exists (
             select from usage_daily
              where usage_daily.tenant_id = tenants.tenant_id and day >= ${fromDay})) as with_traffic_30_days
      from tenants`);
  return rows[0]!;
}

/** Everything that all tenants used from a day on, from the rollups. */
export async function sumPlatformUsage(db: Db, fromDay: string): Promise<PlatformFigures> {
  const rows = await db.query<PlatformFigures>(sql`
    select coalesce(sum(requests), 0)::bigint as requests,
           coalesce(sum(requests) filter (where status_code >= 400), 0)::bigint as errors,
           coalesce(sum(tokens_input), 0)::bigint as tokens_input,
           coalesce(sum(tokens_output), 0)::bigint as tokens_output,
           coalesce(sum(cost_microdollars), 0)::bigint as cost_microdollars
      from usage_daily where day >= ${fromDay}`);
  return rows[0]!;
}

export interface PlatformModel extends Omit<PlatformFigures, 'errors'> {
  provider: string;
  model_id: string;
  tenants: number;
}

export async function listPlatformModels(db: Db, fromDay: string, limit: number): Promise<PlatformModel[]> {
  return db.query<PlatformModel>(sql`
    select provider, model_id, count(distinct tenant_id) as tenants, sum(requests)::bigint as requests,
           sum(tokens_input)::bigint as tokens_input, sum(tokens_output)::bigint as tokens_output,
           sum(cost_microdollars)::bigint as cost_microdollars
      from usage_daily where day >= ${fromDay}
     group by provider, model_id
     order by cost_microdollars desc, requests desc, model_id limit ${limit}`);
}

export interface AlertCount {
  alert_type: string;
  severity: string;
  count: number;
  acknowledged: number;
  tenants: number;
}

export async function countAlerts(db: Db, since: Date): Promise<AlertCount[]> {
  return db.query<AlertCount>(sql`
    select alert_type, severity, count(*), count(*) filter (where acknowledged) as acknowledged,
           count(distinct tenant_id) as tenants
      from alerts where created_at >= ${since}
     group by alert_type, severity
     order by alert_type, severity`);
}

export interface QueueDepth {
  task: string;
  ready: number;
  running: number;
  scheduled: number;
  retrying: number;
  failed: number;
  oldest_ready_at: Date | null;
  last_error: string | null;
}

export async function listQueueDepths(db: Db): Promise<QueueDepth[]> {
  return db.query<QueueDepth>(sql`select * from job_queue_depths()`);
}
