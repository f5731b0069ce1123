import sql, { empty, type Sql } from 'sql-template-tag';
import { validate as isUuid } from 'uuid';
import type { TENANT_STATUSES } from '../../contract/operator-tenants.ts';
import type { Db } from './database.ts';
import { containing } from './text-search.ts';

export type TenantStatus = (typeof TENANT_STATUSES)[number];

export interface TenantFilter {
  search?: string | undefined;
  status?: TenantStatus | undefined;
  planTier?: string | undefined;
}

export interface TenantListRow {
  tenant_id: string;
  name: string;
  email: string;
  plan_tier: string;
  status: string;
  included_requests: number;
  used_requests: number;
  requests_30_days: number;
  cost_30_days_microdollars: number;
  created_at: Date;
}

function matching(filter: TenantFilter): Sql {
  const { search, status, planTier } = filter;
  const found =
    search === undefined
      ? empty
      : sql`and (name ilike ${containing(search)} or email ilike ${containing(search)}
                 ${isUuid(search) ? sql`or tenant_id = ${search}` : empty})`;
  return sql`true ${found}
    ${status === undefined ? empty : sql`and status = ${status}`}
    ${planTier === undefined ? empty : sql`and plan_tier = ${planTier}`}`;
}

/** Newest first; the rollups are read for the tenants of the page alone. */
export async function listTenants(
  db: Db,
  filter: TenantFilter,
  since: { month: string; day: string },
  page: { limit: number; offset: number },
): Promise<{ rows: TenantListRow[]; total: number }> {
  const rows = await db.query<TenantListRow>(sql`
    with paged as (
      select * from tenants where ${matching(filter)}
       order by created_at desc, tenant_id desc limit ${page.limit} offset ${page.offset})
    select paged.tenant_id, name, email, plan_tier, status, included_requests, created_at,
           coalesce((select requests from usage_months
                      where usage_months.tenant_id = paged.tenant_id and month = ${since.month}), 0) as used_requests,
           recent.requests as requests_30_days, recent.cost as cost_30_days_microdollars
      from paged
     cross join lateral (
       select coalesce(sum(requests), 0)::bigint as requests,
              coalesce(sum(cost_microdollars), 0)::bigint as cost
         from usage_daily where usage_daily.tenant_id = paged.tenant_id and day >= ${since.day}) recent
     order by created_at desc, paged.tenant_id desc`);
  const counted = await db.query<{ total: number }>(sql`
    select count(*) as total from tenants where ${matching(filter)}`);
  return { rows, total: counted[0]!.total };
}

export interface TenantDetailRow {
  tenant_id: string;
  name: string;
  email: string;
  plan_tier: string;
  status: string;
  included_requests: number;
  notes: string | null;
  digest_enabled: boolean;
  data_share_enabled: boolean;
  chat_webhook_set: boolean;
  created_at: Date;
  updated_at: Date;
  api_keys_active: number;
  api_keys_revoked: number;
  api_keys_last_used_at: Date | null;
  teams: number;
}

export async function findTenantDetail(db: Db, tenantId: string): Promise<TenantDetailRow | null> {
  const rows = await db.query<TenantDetailRow>(sql`
    select tenant_id, name, email, plan_tier, status, included_requests, notes, digest_enabled,
           data_share_enabled, chat_webhook_sealed is not null as chat_webhook_set, created_at, updated_at,
           keys.active as api_keys_active, keys.revoked as api_keys_revoked,
           keys.last_used_at as api_keys_last_used_at,
           (select count(*) from teams
             where teams.tenant_id = tenants.tenant_id and deleted_at is null) as teams
      from tenants
     cross join lateral (
       select count(*) filter (where revoked_at is null) as active,
              count(*) filter (where revoked_at is not null) as revoked,
              max(last_used_at) as last_used_at
         from api_keys where api_keys.tenant_id = tenants.tenant_id) keys
     where tenant_id = ${tenantId}`);
  return rows[0] ?? null;
}

/** Undefined leaves a column as it is; notes can be emptied with null. */
export async function updateTenantPlan(
  db: Db,
  tenantId: string,
  changes: {
    planTier: string | undefined;
    status: TenantStatus | undefined;
    includedRequests: number | undefined;
    notes: string | null | undefined;
  },
): Promise<boolean> {
  const rows = await db.query(sql`
    update tenants
       set plan_tier = coalesce(${changes.planTier ?? null}, plan_tier),
           status = coalesce(${changes.status ?? null}, status),
           included_requests = coalesce(${changes.includedRequests ?? null}::bigint, included_requests),
           notes = ${changes.notes === undefined ? sql`notes` : sql`${changes.notes}`},
           updated_at = now()
     where tenant_id = ${tenantId}
    returning tenant_id`);
  return rows.length === 1;
}

export interface TopModel {
  provider: string;
  model_id: string;
  requests: number;
  cost_microdollars: number;
}

export async function listTopModels(
  db: Db,
  tenantId: string,
  fromDay: string,
  limit: number,
): Promise<TopModel[]> {
  return db.query<TopModel>(sql`
    select provider, model_id, sum(requests)::bigint as requests,
           sum(cost_microdollars)::bigint as cost_microdollars
      from usage_daily where tenant_id = ${tenantId} and day >= ${fromDay}
     group by provider, model_id
     order by cost_microdollars desc, requests desc, model_id limit ${limit}`);
}
