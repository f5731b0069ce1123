import sql, { empty, type Sql } from 'sql-template-tag';
import type { BudgetMode, BudgetScope, BudgetScopeType } from '../domain/budgets.ts';
import { PERIODS, type Period, periodOf } from '../domain/period.ts';
import type { Db } from './database.ts';

export interface BudgetRow {
  id: string;
  scope_type: BudgetScopeType;
  scope_id: string | null;
  agent_name: string | null;
  amount_microdollars: number;
  period: Period;
  mode: BudgetMode;
  created_at: Date;
}

/** A budget in its current period. */
export interface BudgetStanding extends BudgetRow {
  period_start: Date;
  period_end: Date;
  spend_microdollars: number;
  reserved_microdollars: number;
  granted_microdollars: number;
  /** For the scope team; of deleted teams too. */
  team_name: string | null;
}

/** Sums that no exact integer could hold are cut to the largest that one can. */
const MAX_SUM = Number.MAX_SAFE_INTEGER;

export async function countBudgets(db: Db, tenantId: string): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) from budgets where tenant_id = ${tenantId} and deleted_at is null`);
  return rows[0]!.count;
}

export async function insertBudget(
  db: Db,
  tenantId: string,
  draft: BudgetScope & { id: string; amountMicrodollars: number; period: Period; mode: BudgetMode; at: Date },
): Promise<void> {
  await db.query(sql`
    insert into budgets (tenant_id, id, scope_type, scope_id, agent_name, amount_microdollars, period, mode,
                         created_at, updated_at)
    values (${tenantId}, ${draft.id}, ${draft.scopeType}, ${draft.scopeId}, ${draft.agentName},
            ${draft.amountMicrodollars}, ${draft.period}, ${draft.mode}, ${draft.at}, ${draft.at})`);
}

export async function updateBudget(
  db: Db,
  tenantId: string,
  change: { id: string; amountMicrodollars: number; period: Period; mode: BudgetMode; at: Date },
): Promise<void> {
  await db.query(sql`
    update budgets
       set amount_microdollars = ${change.amountMicrodollars}, period = ${change.period}, mode = ${change.mode},
           updated_at = ${change.at}
     where tenant_id = ${tenantId} and id = ${change.id} and deleted_at is null`);
}

export async function deleteBudget(db: Db, tenantId: string, id: string, at: Date): Promise<void> {
  await db.query(sql`
    update budgets set deleted_at = ${at}, updated_at = ${at}
     where tenant_id = ${tenantId} and id = ${id} and deleted_at is null`);
}

/**
 * What the rollups say was spent of `budget` between `bounds.first_day` and, exclusively, `bounds.end_day`. A
 * period is whole UTC days, so days add up to it.
 */
const ROLLED_UP_SPEND: Sql = sql`
  case budget.scope_type
    when 'agent' then (
      select coalesce(sum(used.cost_microdollars), 0)
        from usage_daily_agents used
       where used.tenant_id = budget.tenant_id and used.agent = budget.agent_name
         and used.day >= bounds.first_day and used.day < bounds.end_day)
    else (
      select coalesce(sum(used.cost_microdollars), 0)
        from usage_daily used
       where used.tenant_id = budget.tenant_id
         and used.day >= bounds.first_day and used.day < bounds.end_day
         and case budget.scope_type
               when 'team' then used.team_id = budget.scope_id
               when 'service' then used.service_name = budget.scope_id
               else true
             end)
  end`;

/**
 * Every budget, or one, as it stands at an instant, in one statement and without a lock. Spend is the figure
 * that is enforced; where nothing has enforced or added to it in this period yet, it is the rollups'.
 */
export async function listBudgetStandings(
  db: Db,
  tenantId: string,
  atMs: number,
  budgetId: string | null = null,
): Promise<BudgetStanding[]> {
  return db.query<BudgetStanding>(sql`
    select budget.id, budget.scope_type, budget.scope_id, budget.agent_name, budget.amount_microdollars,
           budget.period, budget.mode, budget.created_at, bounds.period_start, bounds.period_end,
           coalesce(counted.committed_microdollars, ${ROLLED_UP_SPEND})::bigint as spend_microdollars,
           (select least(coalesce(sum(lease.amount_microdollars), 0), ${MAX_SUM})::bigint
              from budget_leases lease
             where lease.tenant_id = budget.tenant_id and lease.budget_id = budget.id
               and lease.period_start = bounds.period_start and lease.expires_at > clock_timestamp()
           ) as reserved_microdollars,
           (select least(coalesce(sum(approval.extra_microdollars), 0), ${MAX_SUM})::bigint
              from budget_approvals approval
             where approval.tenant_id = budget.tenant_id and approval.budget_id = budget.id
               and approval.status = 'approved' and approval.approved_until > ${new Date(atMs)}
           ) as granted_microdollars,
           (select team.name from teams team
             where budget.scope_type = 'team' and team.tenant_id = budget.tenant_id
               and team.id::text = budget.scope_id) as team_name
      from budgets budget
      join json_to_recordset(${JSON.stringify(PERIODS.map((period) => boundsOf(period, atMs)))}::json) as bounds (
             period text, period_start timestamptz, period_end timestamptz, first_day date, end_day date)
        on bounds.period = budget.period
      left join budget_periods counted
        on counted.tenant_id = budget.tenant_id and counted.budget_id = budget.id
       and counted.period_start = bounds.period_start
     where budget.tenant_id = ${tenantId} and budget.deleted_at is null
       ${budgetId === null ? empty : sql`and budget.id = ${budgetId}`}
     order by budget.id desc`);
}

/**
 * Makes sure that the row which counts a budget's spend of a period is there, counted from the rollups as they
 * stand. Takes the lock of the tenant's ledger head when it has to make one, so:
 * - call it before locking any row of budget_periods (a batch of records takes the head first, then those);
 * - a batch calls it before its own records are in the rollups, and then adds what they cost.
 */
export async function ensureBudgetPeriod(
  db: Db,
  tenantId: string,
  budget: { id: string },
  periodStart: Date,
): Promise<void> {
  const counted = await db.query(sql`
    select from budget_periods
     where tenant_id = ${tenantId} and budget_id = ${budget.id} and period_start = ${periodStart}`);
  if (counted.length === 1) return;
  await countFromRollups(db, tenantId, budget, periodStart, sql`do nothing`);
}

/**
 * Counts a period again: for a budget whose period was changed to one that it had before. The row it left
 * behind then has not been added to since.
 */
export async function recountBudgetPeriod(
  db: Db,
  tenantId: string,
  budget: { id: string },
  periodStart: Date,
): Promise<void> {
  const again = sql`do update set committed_microdollars = excluded.committed_microdollars`;
  await countFromRollups(db, tenantId, budget, periodStart, again);
}

async function countFromRollups(
  db: Db,
  tenantId: string,
  budget: { id: string },
  periodStart: Date,
  whenThere: Sql,
): Promise<void> {
  await lockLedgerHead(db, tenantId);
  const firstDay = periodStart.toISOString().slice(0, 10);
  await db.query(sql`
    insert into budget_periods as counted (tenant_id, budget_id, period_start, committed_microdollars)
    select budget.tenant_id, budget.id, ${periodStart}, ${ROLLED_UP_SPEND}
      from budgets budget
     cross join lateral (
           select ${firstDay}::date as first_day,
                  (${firstDay}::date + ('1 ' || budget.period)::interval)::date as end_day) bounds
     where budget.tenant_id = ${tenantId} and budget.id = ${budget.id}
        on conflict (tenant_id, budget_id, period_start) ${whenThere}`);
}

/**
 * Keeps batches of records out until the transaction ends. A tenant's very first batch may be under way with
 * a head that nobody else sees yet; inserting the same key waits for it, and is taken back.
 */
async function lockLedgerHead(db: Db, tenantId: string): Promise<void> {
  const lock = () => db.query(sql`select from ledger_heads where tenant_id = ${tenantId} for update`);
  if ((await lock()).length === 1) return;
  await db.query(sql`savepoint before_first_head`);
  await db.query(sql`
    insert into ledger_heads (tenant_id, sequence_number, record_hash, hmac_signature)
    values (${tenantId}, 0, '', '') on conflict do nothing`);
  await db.query(sql`rollback to savepoint before_first_head`);
  await lock();
}

function boundsOf(period: Period, atMs: number) {
  const { startMs, endMs } = periodOf(period, atMs);
  const periodStart = new Date(startMs).toISOString();
  const periodEnd = new Date(endMs).toISOString();
  return {
    period,
    period_start: periodStart,
    period_end: periodEnd,
    first_day: periodStart.slice(0, 10),
    end_day: periodEnd.slice(0, 10),
  };
}
