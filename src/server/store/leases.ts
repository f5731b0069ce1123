import sql, { empty } from 'sql-template-tag';
import { leaseShare } from '../domain/admission.ts';
import type { Db } from './database.ts';

/** One budget in one of its periods: what a lease is taken from. */
export interface BudgetPeriod {
  tenantId: string;
  budgetId: string;
  periodStart: Date;
}

/** How a budget stood when a node asked it for more. */
export interface BudgetStanding {
  limitMicrodollars: number;
  committedMicrodollars: number;
  /** Leased to all nodes, the asking one included, before this grant. */
  leasedMicrodollars: number;
  grantedMicrodollars: number;
  /** Leased to this node before this grant; null when the database knows of no lease. */
  ownMicrodollars: number | null;
  /** Other nodes that hold something, and those of them that have not answered the last recall. */
  otherNodes: number;
  unansweredNodes: number;
}

export const LEASE_SECONDS = 30;

export interface LeaseQuestion extends BudgetPeriod {
  nodeId: string;
  /** Less than this is of no use. */
  needAtLeast: number;
  /** This would serve everybody who waits. */
  needForAll: number;
  /** Whether leases that have run out may be taken from their nodes. */
  mayReclaim: boolean;
  now: Date;
}

/**
 * Takes money from a budget for a node, or nothing when what is left is too little. The budget's period row is
 * locked until the transaction ends, so among all nodes one is served after the other and committed + leased
 * never passes the limit. Null when the budget is gone.
 */
export async function takeLease(db: Db, question: LeaseQuestion): Promise<BudgetStanding | null> {
  const { tenantId, budgetId, periodStart, nodeId } = question;
  const locked = await db.query<{ committed: number; recall_number: number }>(sql`
    select committed_microdollars as committed, recall_number from budget_periods
     where tenant_id = ${tenantId} and budget_id = ${budgetId} and period_start = ${periodStart}
       for update`);
  const period = locked[0];
  if (!period) return null;
  if (question.mayReclaim) await deleteExpiredLeases(db, question);
  const limit = await findLimit(db, question);
  if (limit === null) return null;
  const [held] = await db.query<{
    leased: number;
    own: number | null;
    others: number;
    unanswered: number;
  }>(sql`
    select coalesce(sum(amount_microdollars), 0)::bigint as leased,
           (sum(amount_microdollars) filter (where node_id = ${nodeId}))::bigint as own,
           count(*) filter (where node_id <> ${nodeId} and amount_microdollars > 0) as others,
           count(*) filter (where node_id <> ${nodeId} and amount_microdollars > 0
                              and recall_answered < ${period.recall_number}) as unanswered
      from budget_leases
     where tenant_id = ${tenantId} and budget_id = ${budgetId} and period_start = ${periodStart}`);
  const left = limit - period.committed - held!.leased;
  const wanted = question.needForAll + leaseShare(left, question.needForAll);
  const granted = left >= question.needAtLeast ? Math.max(0, Math.min(left, wanted)) : 0;
  if (granted > 0) await addToLease(db, question, granted);
  return {
    limitMicrodollars: limit,
    committedMicrodollars: period.committed,
    leasedMicrodollars: held!.leased,
    grantedMicrodollars: granted,
    ownMicrodollars: held!.own,
    otherNodes: held!.others,
    unansweredNodes: held!.unanswered,
  };
}

/** The amount and the grants that hold at this moment. */
async function findLimit(db: Db, { tenantId, budgetId, now }: LeaseQuestion): Promise<number | null> {
  const rows = await db.query<{ limit_microdollars: number }>(sql`
    select amount_microdollars + coalesce((
             select sum(extra_microdollars) from budget_approvals
              where tenant_id = ${tenantId} and budget_id = ${budgetId}
                and status = 'approved' and approved_until > ${now}), 0)::bigint as limit_microdollars
      from budgets
     where tenant_id = ${tenantId} and id = ${budgetId} and deleted_at is null`);
  return rows[0]?.limit_microdollars ?? null;
}

/** New money has not been recalled yet, whatever this node answered before. */
async function addToLease(db: Db, question: LeaseQuestion, amount: number): Promise<void> {
  const { tenantId, budgetId, periodStart, nodeId } = question;
  await db.query(sql`
    insert into budget_leases as lease
      (tenant_id, budget_id, period_start, node_id, amount_microdollars, expires_at)
    values (${tenantId}, ${budgetId}, ${periodStart}, ${nodeId}, ${amount},
            clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}))
        on conflict (tenant_id, budget_id, period_start, node_id)
        do update set amount_microdollars = lease.amount_microdollars + excluded.amount_microdollars,
                      recall_answered = 0,
                      expires_at = excluded.expires_at`);
}

/** The period row is locked by the caller. */
async function deleteExpiredLeases(
  db: Db,
  { tenantId, budgetId, periodStart, nodeId }: LeaseQuestion,
): Promise<void> {
  await db.query(sql`
    delete from budget_leases
     where tenant_id = ${tenantId} and budget_id = ${budgetId} and period_start = ${periodStart}
       and node_id <> ${nodeId} and expires_at < clock_timestamp()`);
}

export const RECALL_CHANNEL = 'gateway_recall';

/** As it travels in a notification. */
export interface Recall {
  budget_id: string;
  period_start_ms: number;
  recall_number: number;
}

/** Asks every other node to give back what it does not use of a budget. */
export async function recallLeases(db: Db, period: BudgetPeriod): Promise<void> {
  await db.query(sql`
    with raised as (
      update budget_periods set recall_number = recall_number + 1
       where tenant_id = ${period.tenantId} and budget_id = ${period.budgetId}
         and period_start = ${period.periodStart}
      returning budget_id, period_start, recall_number)
    select pg_notify(${RECALL_CHANNEL}, json_build_object(
             'budget_id', budget_id,
             'period_start_ms', (extract(epoch from period_start) * 1000)::bigint,
             'recall_number', recall_number)::text)
      from raised`);
}

/**
 * Gives back part of a lease. Said relatively, because the ingest takes what was spent off the same row in its
 * own transactions; a row that holds nothing is removed.
 */
export async function returnLease(
  db: Db,
  period: BudgetPeriod & { nodeId: string },
  amount: number,
  recallNumber: number | null,
): Promise<void> {
  const { tenantId, budgetId, periodStart, nodeId } = period;
  await db.query(sql`
    update budget_leases
       set amount_microdollars = greatest(amount_microdollars - ${amount}, 0)
           ${recallNumber === null ? empty : sql`, recall_answered = greatest(recall_answered, ${recallNumber})`}
     where tenant_id = ${tenantId} and budget_id = ${budgetId} and period_start = ${periodStart}
       and node_id = ${nodeId}`);
}

/** For a lease of which nothing is in use: whatever the row says, nothing is held any more. */
export async function deleteLease(db: Db, period: BudgetPeriod & { nodeId: string }): Promise<void> {
  await db.query(sql`
    delete from budget_leases
     where tenant_id = ${period.tenantId} and budget_id = ${period.budgetId}
       and period_start = ${period.periodStart} and node_id = ${period.nodeId}`);
}

/** Says outright what a lease amounts to, after an answer got lost and nobody knows what the row says. */
export async function setLease(
  db: Db,
  period: BudgetPeriod & { nodeId: string },
  amount: number,
): Promise<void> {
  await db.query(sql`
    update budget_leases set amount_microdollars = ${amount}
     where tenant_id = ${period.tenantId} and budget_id = ${period.budgetId}
       and period_start = ${period.periodStart} and node_id = ${period.nodeId}`);
}

/** Keeps this node's leases for another while, and says which of them still exist. */
export async function renewLeases(
  db: Db,
  nodeId: string,
): Promise<Array<{ budget_id: string; period_start_ms: number }>> {
  return db.query(sql`
    update budget_leases set expires_at = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
     where node_id = ${nodeId}
    returning budget_id, (extract(epoch from period_start) * 1000)::bigint as period_start_ms`);
}

/** At a node's start, once everything of its earlier run is committed: that run's leases hold nothing any more. */
export async function deleteLeasesOfNode(db: Db, nodeId: string): Promise<void> {
  await db.query(sql`delete from budget_leases where node_id = ${nodeId}`);
}

export interface SpentOfLease {
  tenant_id: string;
  budget_id: string;
  period_start: string;
  cost_microdollars: number;
}

/** What a node's requests really cost comes off its leases in the transaction that commits it to the budgets. */
export async function spendLeases(db: Db, nodeId: string, spent: readonly SpentOfLease[]): Promise<void> {
  await db.query(sql`
    update budget_leases
       set amount_microdollars = greatest(budget_leases.amount_microdollars - spent.cost_microdollars, 0)
      from json_to_recordset(${JSON.stringify(spent)}::json) as spent (
        tenant_id uuid, budget_id uuid, period_start timestamptz, cost_microdollars bigint)
     where budget_leases.node_id = ${nodeId}
       and budget_leases.tenant_id = spent.tenant_id and budget_leases.budget_id = spent.budget_id
       and budget_leases.period_start = spent.period_start`);
}
