import { periodOf } from '../domain/period.ts';
import { PLAN_THRESHOLDS, planAlert } from '../domain/plan-usage.ts';
import { raiseAlert } from '../store/alerts.ts';
import { listPlansToTell } from '../store/plan-usage.ts';
import type { JobParts, Task } from './task.ts';

/** More than this at once wait a minute. */
const MAX_TOLD_AT_ONCE = 1_000;

/** Tells tenants how much of their plan's included requests they have used. Nothing is ever blocked for it. */
export function checkPlanUsage(parts: JobParts): Task {
  return async () => {
    const month = new Date(periodOf('month', parts.nowMs()).startMs).toISOString().slice(0, 10);
    await parts.database.asSystem(async (db) => {
      for (const used of await listPlansToTell(db, month, PLAN_THRESHOLDS, MAX_TOLD_AT_ONCE)) {
        const usage = {
          planTier: used.plan_tier,
          includedRequests: used.included_requests,
          usedRequests: used.used_requests,
        };
        await raiseAlert(db, { tenantId: used.tenant_id, ...planAlert(usage, used.percent, month) });
      }
    });
  };
}
