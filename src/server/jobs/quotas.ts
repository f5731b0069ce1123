import { PERIODS, type Period, periodOf } from '../domain/period.ts';
import { type Quota, quotaAlert, type Told, thresholdsToTell } from '../domain/quotas.ts';
import { raiseAlert } from '../store/alerts.ts';
import type { Db } from '../store/database.ts';
import { listQuotasToCheck, markQuotasChecked, type QuotaToCheck } from '../store/spend-quotas.ts';
import type { JobParts, Task } from './task.ts';

const QUOTAS_PER_TRANSACTION = 200;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** Tells of every spend quota what has not been told of it yet in this period. */
export function checkQuotas(parts: JobParts): Task {
  return async () => {
    const nowMs = parts.nowMs();
    for (const period of PERIODS) {
      let after: { tenantId: string; id: string } | null = { tenantId: BEFORE_ALL, id: BEFORE_ALL };
      while (after) {
        const from: { tenantId: string; id: string } = after;
        after = await parts.database.asSystem((db) => checkSome(db, period, nowMs, from));
      }
    }
  };
}

/** Where to go on, or null when that was the rest. */
async function checkSome(
  db: Db,
  period: Period,
  nowMs: number,
  after: { tenantId: string; id: string },
): Promise<{ tenantId: string; id: string } | null> {
  const bounds = periodOf(period, nowMs);
  const quotas = await listQuotasToCheck(db, period, bounds, after, QUOTAS_PER_TRANSACTION);
  const checked = [];
  for (const row of quotas) {
    const { tenant_id, id, ledger_sequence } = row;
    checked.push({
      tenant_id,
      id,
      ledger_sequence,
      told_threshold: await tellPassed(db, row, bounds.startMs),
    });
  }
  if (checked.length > 0) await markQuotasChecked(db, bounds.startMs, checked);
  const last = quotas[QUOTAS_PER_TRANSACTION - 1];
  return last ? { tenantId: last.tenant_id, id: last.id } : null;
}

/** Returns the highest threshold told in this period so far. */
async function tellPassed(db: Db, row: QuotaToCheck, periodStartMs: number): Promise<number> {
  const quota: Quota = {
    id: row.id,
    dimensionType: row.dimension_type,
    dimensionValue: row.dimension_value,
    period: row.period,
    limitMicrodollars: row.limit_microdollars,
    alertThresholds: row.alert_thresholds,
  };
  const told: Told = row.told_period_start && {
    periodStartMs: row.told_period_start.getTime(),
    threshold: row.told_threshold,
  };
  const standing = { periodStartMs, spendMicrodollars: row.spend_microdollars };
  const passed = thresholdsToTell(quota, told, periodStartMs, row.spend_microdollars);
  for (const percent of passed) {
    await raiseAlert(db, {
      tenantId: row.tenant_id,
      ...quotaAlert(quota, percent, standing, row.team_name),
    });
  }
  const before = told?.periodStartMs === periodStartMs ? told.threshold : 0;
  return Math.max(before, ...passed);
}
