import sql from 'sql-template-tag';
import type { Budget } from '../domain/budgets.ts';
import { ensureBudgetPeriod } from './budgets.ts';
import type { Db } from './database.ts';

export type TenantBudget = Budget & { tenantId: string };

/** The budgets of these tenants, in the order in which their periods are locked. */
export async function listBudgetsOfTenants(db: Db, tenantIds: readonly string[]): Promise<TenantBudget[]> {
  return db.query<TenantBudget>(sql`
    select tenant_id as "tenantId", id, scope_type as "scopeType", scope_id as "scopeId",
           agent_name as "agentName", amount_microdollars as "amountMicrodollars", period, mode
      from budgets
     where tenant_id = any (${tenantIds}::uuid[]) and deleted_at is null
     order by tenant_id, id`);
}

/** What a batch of records spends of one budget in one period. */
export interface BudgetCharge {
  budget: TenantBudget;
  periodStart: string;
  costMicrodollars: number;
}

function chargeRows(charges: readonly BudgetCharge[]): string {
  return JSON.stringify(
    charges.map(({ budget, periodStart, costMicrodollars }) => ({
      tenant_id: budget.tenantId,
      budget_id: budget.id,
      period_start: periodStart,
      cost_microdollars: costMicrodollars,
    })),
  );
}

/** Before the batch is in the rollups: counts the periods that nobody has counted yet. */
export async function ensureChargedPeriods(db: Db, charges: readonly BudgetCharge[]): Promise<void> {
  const counted = await db.query<{ budget_id: string; period_start: Date }>(sql`
    select budget_id, period_start
      from json_to_recordset(${chargeRows(charges)}::json) as charge (
             tenant_id uuid, budget_id uuid, period_start timestamptz)
      join budget_periods using (tenant_id, budget_id, period_start)`);
  const known = new Set(counted.map((row) => `${row.budget_id} ${row.period_start.toISOString()}`));
  for (const { budget, periodStart } of charges) {
    if (known.has(`${budget.id} ${periodStart}`)) continue;
    await ensureBudgetPeriod(db, budget.tenantId, budget, new Date(periodStart));
  }
}

export interface ChargedBudget {
  budget_id: string;
  period_start: Date;
  committed_microdollars: number;
  limit_microdollars: number;
  team_name: string | null;
}

/** Adds what was spent to the budgets it was spent of, and says where they stand now. */
export async function chargeBudgets(
  db: Db,
  charges: readonly BudgetCharge[],
  now: Date,
): Promise<ChargedBudget[]> {
  return db.query<ChargedBudget>(sql`
    update budget_periods counted
       set committed_microdollars = counted.committed_microdollars + charge.cost_microdollars
      from json_to_recordset(${chargeRows(charges)}::json) as charge (
             tenant_id uuid, budget_id uuid, period_start timestamptz, cost_microdollars bigint)
      join budgets budget on budget.tenant_id = charge.tenant_id and budget.id = charge.budget_id
     where counted.tenant_id = charge.tenant_id and counted.budget_id = charge.budget_id
       and counted.period_start = charge.period_start
    returning counted.budget_id, counted.period_start, counted.committed_microdollars,
              budget.amount_microdollars + coalesce((
                select sum(extra_microdollars) from budget_approvals grants
                 where grants.tenant_id = budget.tenant_id and grants.budget_id = budget.id
                   and grants.status = 'approved' and grants.approved_until > ${now}), 0)::bigint as limit_microdollars,
              (select name from teams
                where budget.scope_type = 'team' and teams.tenant_id = budget.tenant_id
                  and teams.id::text = budget.scope_id) as team_name`);
}
