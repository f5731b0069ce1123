import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import { MAX_SPEND_QUOTAS, type spendQuotasOperations } from '../../contract/spend-quotas.ts';
import { type PeriodBounds, periodOf } from '../domain/period.ts';
import {
  type Forecast,
  forecast,
  type QuotaDimension,
  readQuotaDimension,
  readThresholds,
} from '../domain/quotas.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import * as store from '../store/spend-quotas.ts';
import { findTeamByText } from '../store/team-directory.ts';
import { lockTenant } from '../store/tenants.ts';
import type { Handler, Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof spendQuotasOperations;
type SpendQuota = ResponseOf<Operations['getSpendQuota']>;
type Forecasted = ResponseOf<Operations['forecastSpendQuota']>;

const DAY_MS = 86_400_000;

/** No proxy knows of quotas, so their changes are nobody's business but the database's. */
export function spendQuotasApi(parts: ApiParts): Handlers<Operations> {
  return {
    createSpendQuota: createSpendQuota(parts),
    listSpendQuotas: async ({ caller: { tenantId } }) => {
      const rows = await parts.database.asTenant(tenantId, (db) => store.listQuotas(db, tenantId));
      return rows.map(show);
    },
    getSpendQuota: ({ caller: { tenantId }, params }) =>
      parts.database.asTenant(tenantId, async (db) => {
        const quota = await findByParam(db, tenantId, params.id);
        return quota ? show(quota) : refuse('not_found');
      }),
    updateSpendQuota: async ({ body, caller, params, ip }) => {
      const { id } = params;
      if (id === undefined || !isUuid(id)) return refuse('not_found');
      return parts.database.asTenant(caller.tenantId, async (db) => {
        const quota = await store.updateQuota(db, caller.tenantId, id, {
          limit: body.limit_microdollars ?? null,
          thresholds: body.alert_thresholds === undefined ? null : readThresholds(body.alert_thresholds),
          enabled: body.enabled ?? null,
          at: new Date(parts.nowMs()),
        });
        if (!quota) return refuse('not_found');
        await recordQuotaAudit(db, { caller, ip }, 'spend_quota.updated', quota);
        return show(quota);
      });
    },
    deleteSpendQuota: async ({ caller, params, ip }) => {
      const { id } = params;
      if (id === undefined || !isUuid(id)) return refuse('not_found');
      return parts.database.asTenant(caller.tenantId, async (db) => {
        const quota = await store.deleteQuota(db, caller.tenantId, id);
        if (!quota) return refuse('not_found');
        await recordQuotaAudit(db, { caller, ip }, 'spend_quota.deleted', quota);
        return undefined;
      });
    },
    forecastSpendQuota: ({ caller: { tenantId }, params }) =>
      parts.database.asTenant(tenantId, async (db) => {
        const quota = await findByParam(db, tenantId, params.id);
        if (!quota) return refuse('not_found');
        const nowMs = parts.nowMs();
        const bounds = periodOf(quota.period, nowMs);
        const used = await store.findQuotaSpend(db, tenantId, quota.id, bounds);
        const spend = used.spend_microdollars;
        const line = forecast(
          { period: quota.period, limitMicrodollars: quota.limit_microdollars },
          spend,
          used.first_usage_at?.getTime() ?? null,
          nowMs,
        );
        return {
          quota: show(quota),
          consumption: showConsumption(quota, spend, bounds),
          forecast: showForecast(line),
        };
      }),
  };
}

function createSpendQuota(parts: ApiParts): Handler<Operations['createSpendQuota']> {
  return async ({ body, caller, ip }) => {
    const { tenantId } = caller;
    const asked = readQuotaDimension(body.dimension_type, body.dimension_value);
    if (isRefusal(asked)) return asked;
    return parts.database.asTenant(tenantId, async (db) => {
      await lockTenant(db, tenantId);
      const value = await resolveTeam(db, tenantId, body.dimension_type, asked);
      if (isRefusal(value)) return value;
      if ((await store.countQuotas(db, tenantId)) >= MAX_SPEND_QUOTAS)
        return refuse('limit_exceeded', `An account has at most ${MAX_SPEND_QUOTAS} spend quotas.`);
      const quota = await store.insertQuota(db, tenantId, {
        id: uuidv7(),
        dimension_type: body.dimension_type,
        dimension_value: value,
        period: body.period,
        limit_microdollars: body.limit_microdollars,
        alert_thresholds: readThresholds(body.alert_thresholds),
        enabled: body.enabled ?? true,
        at: new Date(parts.nowMs()),
      });
      await recordQuotaAudit(db, { caller, ip }, 'spend_quota.created', quota);
      return show(quota);
    });
  };
}

/** A team may be called by its id, slug or name; the rollups know its id. */
async function resolveTeam(
  db: Db,
  tenantId: string,
  dimension: QuotaDimension,
  value: string,
): Promise<string | Refusal> {
  if (dimension !== 'team') return value;
  const team = await findTeamByText(db, tenantId, value);
  if (team) return team.id;
  return refuse(
    'invalid_field',
    'The field "dimension_value" is not valid: it must be the id, slug or name of one of your teams.',
  );
}

async function findByParam(db: Db, tenantId: string, id: string | undefined): Promise<store.QuotaRow | null> {
  return id !== undefined && isUuid(id) ? store.findQuota(db, tenantId, id) : null;
}

function recordQuotaAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  quota: store.QuotaRow,
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'spend_quota',
    resourceId: quota.id,
    ip,
    details: {
      dimension_type: quota.dimension_type,
      dimension_value: quota.dimension_value,
      period: quota.period,
      limit_usd: formatUsd(quota.limit_microdollars),
      alert_thresholds: quota.alert_thresholds,
      enabled: quota.enabled,
    },
  });
}

function show(row: store.QuotaRow): SpendQuota {
  return {
    ...row,
    limit_usd: formatUsd(row.limit_microdollars),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function showConsumption(
  quota: store.QuotaRow,
  spendMicrodollars: number,
  bounds: PeriodBounds,
): Forecasted['consumption'] {
  const remaining = Math.max(0, quota.limit_microdollars - spendMicrodollars);
  return {
    period_start: new Date(bounds.startMs).toISOString(),
    period_end: new Date(bounds.endMs).toISOString(),
    spend_microdollars: spendMicrodollars,
    spend_usd: formatUsd(spendMicrodollars),
    remaining_microdollars: remaining,
    remaining_usd: formatUsd(remaining),
    utilization: spendMicrodollars / quota.limit_microdollars,
  };
}

function showForecast(line: Forecast): Forecasted['forecast'] {
  const { projectedMicrodollars: projected, projectedExhaustionAtMs: exhaustionAtMs } = line;
  return {
    state: line.state,
    projected_microdollars: projected,
    projected_usd: projected === null ? null : formatUsd(projected),
    projected_exhaustion_at: exhaustionAtMs === null ? null : new Date(exhaustionAtMs).toISOString(),
    daily_run_rate_microdollars: line.dailyRunRateMicrodollars,
    window_days: line.windowMs / DAY_MS,
  };
}
