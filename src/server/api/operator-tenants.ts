import { validate as isUuid } from 'uuid';
import { refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import type { operatorTenantsOperations } from '../../contract/operator-tenants.ts';
import { periodOf } from '../domain/period.ts';
import { listAudit } from '../store/audit.ts';
import { leaveCostIndex } from '../store/cost-index.ts';
import type { Db } from '../store/database.ts';
import * as store from '../store/operator-tenants.ts';
import { listProviderKeys } from '../store/provider-keys.ts';
import { findMonthRequests, lockTenant } from '../store/tenants.ts';
import { findUsageTotals } from '../store/usage.ts';
import type { Handler, Handlers } from './handler.ts';
import { recordOperatorAudit } from './operator-audit.ts';
import { pageOf } from './page.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof operatorTenantsOperations;
type OperatorTenant = ResponseOf<Operations['getTenant']>;

const RECENT_DAYS = 30;
const RECENT_AUDIT_ENTRIES = 20;
const TOP_MODELS = 10;
const DAY_MS = 86_400_000;

export function operatorTenantsApi(parts: ApiParts): Handlers<Operations> {
  return {
    listTenants: ({ query }) =>
      parts.database.asSystem(async (db) => {
        const page = pageOf(query);
        const filter = {
          search: query.search?.trim() || undefined,
          status: query.status,
          planTier: query.plan_tier,
        };
        const { month, recent } = daysOf(parts.nowMs());
        const { rows, total } = await store.listTenants(db, filter, { month, day: recent }, page);
        const data = rows.map((row) => ({
          ...row,
          cost_30_days_usd: formatUsd(row.cost_30_days_microdollars),
          created_at: row.created_at.toISOString(),
        }));
        return { data, total, ...page };
      }),
    getTenant: ({ params }) =>
      parts.database.asSystem(async (db) => {
        const tenant = isUuid(params.id) ? await readTenant(parts, db, params.id!) : null;
        return tenant ?? refuse('not_found');
      }),
    updateTenant: updateTenant(parts),
  };
}

function updateTenant(parts: ApiParts): Handler<Operations['updateTenant']> {
  return async ({ body, params, ip }) => {
    if (!isUuid(params.id)) return refuse('not_found');
    const tenantId = params.id!.toLowerCase();
    return parts.changeTenant(tenantId, async (db) => {
      await lockTenant(db, tenantId);
      const before = await store.findTenantDetail(db, tenantId);
      if (!before) return refuse('not_found');
      await store.updateTenantPlan(db, tenantId, {
        planTier: body.plan_tier,
        status: body.status,
        includedRequests: body.included_requests,
        notes: body.notes,
      });
      if (body.status !== undefined && body.status !== 'active')
        await leaveCostIndex(db, tenantId, new Date(parts.nowMs()));
      const { plan_tier, status, included_requests } = before;
      await recordOperatorAudit(db, ip, {
        tenantId,
        action: 'tenant.updated',
        resourceType: 'tenant',
        resourceId: tenantId,
        // The tenant reads this entry; the operators' notes about it stay theirs.
        details: {
          plan_tier: changed(plan_tier, body.plan_tier),
          status: changed(status, body.status),
          included_requests: changed(included_requests, body.included_requests),
        },
      });
      const after = await readTenant(parts, db, tenantId);
      return after ?? refuse('not_found');
    });
  };
}

/** Left out of the entry (undefined) where nothing changed. */
function changed<T>(before: T, after: T | undefined): { from: T; to: T } | undefined {
  return after === undefined || after === before ? undefined : { from: before, to: after };
}

function daysOf(nowMs: number): { today: string; recent: string; month: string } {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return {
    today: day(nowMs),
    recent: day(nowMs - (RECENT_DAYS - 1) * DAY_MS),
    month: day(periodOf('month', nowMs).startMs),
  };
}

async function readTenant(parts: ApiParts, db: Db, tenantId: string): Promise<OperatorTenant | null> {
  const found = await store.findTenantDetail(db, tenantId);
  if (!found) return null;
  const { api_keys_active, api_keys_revoked, api_keys_last_used_at, created_at, updated_at, ...tenant } =
    found;
  const period = periodOf('month', parts.nowMs());
  const { today, recent, month } = daysOf(parts.nowMs());
  const figures = async (from: string) => {
    const { average_latency_ms: _, ...totals } = await findUsageTotals(db, tenantId, {
      range: { from, to: today },
    });
    return { ...totals, cost_usd: formatUsd(totals.cost_microdollars) };
  };
  const audit = await listAudit(db, tenantId, {}, { limit: RECENT_AUDIT_ENTRIES, offset: 0 });
  return {
    ...tenant,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    subscription: {
      plan_tier: tenant.plan_tier,
      included_requests: tenant.included_requests,
      used_requests: await findMonthRequests(db, tenantId, period.startMs),
      status: tenant.status,
      current_period_start: new Date(period.startMs).toISOString(),
      current_period_end: new Date(period.endMs).toISOString(),
    },
    usage: {
      last_30_days: await figures(recent),
      this_month: await figures(month),
      top_models: (await store.listTopModels(db, tenantId, recent, TOP_MODELS)).map((row) => ({
        ...row,
        cost_usd: formatUsd(row.cost_microdollars),
      })),
    },
    provider_keys: (await listProviderKeys(db, tenantId)).map((key) => ({
      ...key,
      last_rotated_at: key.last_rotated_at?.toISOString() ?? null,
      created_at: key.created_at.toISOString(),
    })),
    api_keys: {
      active: api_keys_active,
      revoked: api_keys_revoked,
      last_used_at: api_keys_last_used_at?.toISOString() ?? null,
    },
    recent_audit: audit.rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() })),
  };
}
