import { budgetAlert, budgetMatches, crossedThresholds } from '../domain/budgets.ts';
import { periodOf } from '../domain/period.ts';
import type { RequestRecord } from '../domain/request-record.ts';
import { raiseAlert } from './alerts.ts';
import {
  type BudgetCharge,
  chargeBudgets,
  ensureChargedPeriods,
  listBudgetsOfTenants,
} from './budget-spend.ts';
import type { Db } from './database.ts';

/** A cost as budgets look at it: whose it is, and when its request was admitted. */
export type Spending = Pick<
  RequestRecord,
  'tenant_id' | 'created_at' | 'team_id' | 'service_name' | 'agent' | 'cost_microdollars'
>;

/**
 * What a batch spends of which budgets, each request in the period in which it was admitted. To be asked before
 * the batch is in the rollups: a period that nobody has looked at yet is counted from them here.
 */
export async function findCharges(
  db: Db,
  tenantIds: readonly string[],
  records: readonly Spending[],
): Promise<BudgetCharge[]> {
  const budgets = await listBudgetsOfTenants(db, tenantIds);
  if (budgets.length === 0) return [];
  const charges = new Map<string, BudgetCharge>();
  for (const record of records) {
    if (record.cost_microdollars === 0) continue;
    const facts = { teamId: record.team_id, service: record.service_name, agent: record.agent };
    const admittedAtMs = Date.parse(record.created_at);
    for (const budget of budgets) {
      if (budget.tenantId !== record.tenant_id || !budgetMatches(budget, facts)) continue;
      const periodStart = new Date(periodOf(budget.period, admittedAtMs).startMs).toISOString();
      const key = `${budget.id} ${periodStart}`;
      const charge = charges.get(key) ?? { budget, periodStart, costMicrodollars: 0 };
      charge.costMicrodollars += record.cost_microdollars;
      charges.set(key, charge);
    }
  }
  const found = [...charges.values()];
  if (found.length > 0) await ensureChargedPeriods(db, found);
  return found;
}

/** Commits the spend and raises the alert of every threshold it went through, in the same transaction. */
export async function commitCharges(db: Db, charges: readonly BudgetCharge[], nowMs: number): Promise<void> {
  if (charges.length === 0) return;
  const standings = await chargeBudgets(db, charges, new Date(nowMs));
  for (const { budget, periodStart, costMicrodollars } of charges) {
    const standing = standings.find(
      (row) => row.budget_id === budget.id && row.period_start.toISOString() === periodStart,
    );
    if (!standing) continue;
    const { committed_microdollars: after, limit_microdollars: limit } = standing;
    for (const threshold of crossedThresholds(after - costMicrodollars, after, limit)) {
      const figures = {
        periodStartMs: Date.parse(periodStart),
        spendMicrodollars: after,
        limitMicrodollars: limit,
        periodIsOver: periodOf(budget.period, nowMs).startMs > Date.parse(periodStart),
      };
      await raiseAlert(db, {
        tenantId: budget.tenantId,
        ...budgetAlert(budget, threshold, figures, standing.team_name),
      });
    }
  }
}
