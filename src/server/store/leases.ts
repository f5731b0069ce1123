import sql, { empty, type Sql } from 'sql-template-tag';
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
  /** When the next grant within this limit ends; null when the limit is the budget's own amount. */
  limitHoldsUntilMs: number | null;
}

/** One node's lease. The holder is the node, under a new id after others were given what it held. */
export interface LeaseRow extends BudgetPeriod {
  holderId: string;
}

export interface LeaseQuestion extends LeaseRow {
  /** Believed to be held already. If the database knows of nothing it was lost, and nothing is added to it. */
  held: number;
  /** Less than this is of no use. */
  needAtLeast: number;
  /** This would serve everybody who waits. */
  needForAll: number;
  leaseMs: number;
  now: Date;
}

/**
 * Takes money from a budget for a node, or nothing when what is left is too little. The budget's period row is
 * locked until the transaction ends, so among all nodes one is served after the other and committed + leased
 * never passes the limit. Null when the budget is gone.
 */
export async function takeLease(db: Db, question: LeaseQuestion): Promise<BudgetStanding | null> {
  const { tenantId, budgetId, periodStart, holderId } = question;
  const locked = await db.query<{ committed: number; recall_number: number }>(sql`
    select committed_microdollars as committed, recall_number from budget_periods
     where tenant_id = ${tenantId} and budget_id = ${budgetId} and period_start = ${periodStart}
       for update`);
  const period = locked[0];
  if (!period) return null;
  const found = await findLimit(db, question);
  if (found === null) return null;
  const limit = found.limit_microdollars;
  const [held] = await db.query<{
    leased: number;
    own: number | null;
    others: number;
    unanswered: number;
  }>(sql`
    select coalesce(sum(amount_microdollars), 0)::bigint as leased,
           (sum(amount_microdollars) filter (where node_id = ${holderId}))::bigint as own,
           count(*) filter (where node_id <> ${holderId} and amount_microdollars > 0) as others,
           count(*) filter (where node_id <> ${holderId} and amount_microdollars > 0
                              and recall_answered < ${period.recall_number}) as unanswered
      from budget_leases
     where tenant_id = ${tenantId} and budget_id = ${budgetId} and period_start = ${periodStart}`);
  const left = limit - period.committed - held!.leased;
  const wanted = question.needForAll + leaseShare(left, question.needForAll);
  const isLost = question.held > 0 && held!.own === null;
  const granted = !isLost && left >= question.needAtLeast ? Math.max(0, Math.min(left, wanted)) : 0;
  if (granted > 0) await addToLease(db, question, granted);
  return {
    limitMicrodollars: limit,
    committedMicrodollars: period.committed,
    leasedMicrodollars: held!.leased,
    grantedMicrodollars: granted,
    ownMicrodollars: held!.own,
    otherNodes: held!.others,
    unansweredNodes: held!.unanswered,
    limitHoldsUntilMs: found.holds_until_ms,
  };
}

/** The amount and the grants that hold at this moment. */
async function findLimit(db: Db, { tenantId, budgetId, now }: LeaseQuestion) {
  const rows = await db.query<{ limit_microdollars: number; holds_until_ms: number | null }>(sql`
    select amount_microdollars + coalesce(granted.extra, 0)::bigint as limit_microdollars,
           (extract(epoch from granted.holds_until) * 1000)::bigint as holds_until_ms
      from budgets
     cross join (
           select sum(extra_microdollars) as extra, min(approved_until) as holds_until from budget_approvals
            where tenant_id = ${tenantId} and budget_id = ${budgetId}
              and status = 'approved' and approved_until > ${now}) granted
     where tenant_id = ${tenantId} and id = ${budgetId} and deleted_at is null`);
  return rows[0] ?? null;
}

/** New money has not been recalled yet, whatever this node answered before. */
async function addToLease(db: Db, question: LeaseQuestion, amount: number): Promise<void> {
  const { tenantId, budgetId, periodStart, holderId } = question;
  await db.query(sql`
    insert into budget_leases as lease
      (tenant_id, budget_id, period_start, node_id, amount_microdollars, expires_at)
    values (${tenantId}, ${budgetId}, ${periodStart}, ${holderId}, ${amount}, ${after(question.leaseMs)})
        on conflict (tenant_id, budget_id, period_start, node_id)
        do update set amount_microdollars = lease.amount_microdollars + excluded.amount_microdollars,
                      recall_answered = 0,
                      expires_at = excluded.expires_at`);
}

function after(ms: number): Sql {
  return sql`clock_timestamp() + make_interval(secs => ${ms / 1000})`;
}

export const RECALL_CHANNEL = 'gateway_recall';

/** As it travels in a notification. */
export interface Recall {
  /** Who asks; to itself it has nothing to return. */
  holder_id: string;
  budget_id: string;
  period_start_ms: number;
  recall_number: number;
}

/** Asks every other node to give back what it does not use of a budget. */
export async function recallLeases(db: Db, period: LeaseRow): Promise<void> {
  await db.query(sql`
    with raised as (
      update budget_periods set recall_number = recall_number + 1
       where tenant_id = ${period.tenantId} and budget_id = ${period.budgetId}
         and period_start = ${period.periodStart}
      returning budget_id, period_start, recall_number)
    select pg_notify(${RECALL_CHANNEL}, json_build_object(
             'holder_id', ${period.holderId}::text,
             'budget_id', budget_id,
             'period_start_ms', (extract(epoch from period_start) * 1000)::bigint,
             'recall_number', recall_number)::text)
      from raised`);
}

/**
 * Gives back part of a lease. Said relatively, because the ingest takes what was spent off the same row in its
 * own transactions.
 */
export async function returnLease(
  db: Db,
  lease: LeaseRow,
  amount: number,
  recallNumber: number | null,
): Promise<void> {
  const { tenantId, budgetId, periodStart, holderId } = lease;
  await db.query(sql`
    update budget_leases
       set amount_microdollars = greatest(amount_microdollars - ${amount}, 0)
           ${recallNumber === null ? empty : sql`, recall_answered = greatest(recall_answered, ${recallNumber})`}
     where tenant_id = ${tenantId} and budget_id = ${budgetId} and period_start = ${periodStart}
       and node_id = ${holderId}`);
}

/** For a lease of which nothing is in use: whatever the row says, nothing is held any more. */
export async function deleteLease(db: Db, lease: LeaseRow): Promise<void> {
  await db.query(sql`
    delete from budget_leases
     where tenant_id = ${lease.tenantId} and budget_id = ${lease.budgetId}
       and period_start = ${lease.periodStart} and node_id = ${lease.holderId}`);
}

/** Says outright what a lease amounts to, after an answer got lost and nobody knows what the row says. */
export async function setLease(db: Db, lease: LeaseRow, amount: number): Promise<void> {
  await db.query(sql`
    update budget_leases set amount_microdollars = ${amount}
     where tenant_id = ${lease.tenantId} and budget_id = ${lease.budgetId}
       and period_start = ${lease.periodStart} and node_id = ${lease.holderId}`);
}

export interface OwnLease {
  tenant_id: string;
  budget_id: string;
  period_start_ms: number;
  node_id: string;
  amount_microdollars: number;
  /** False for a row under one of its ids that the node did not name. */
  kept: boolean;
  /** The row's last sign of life. */
  beat: string;
}

/**
 * Keeps the leases a node knows of for another while, and says what stands under its ids. Locked in the order of
 * their keys, as `spendLeases` does, so that the two cannot block each other.
 */
export async function keepLeases(
  db: Db,
  holderIds: readonly string[],
  leases: readonly LeaseRow[],
  leaseMs: number,
): Promise<OwnLease[]> {
  const known = leases.map(({ tenantId, budgetId, periodStart, holderId }) => ({
    tenant_id: tenantId,
    budget_id: budgetId,
    period_start: periodStart,
    node_id: holderId,
  }));
  return db.query<OwnLease>(sql`
    with known as (
      select tenant_id, budget_id, period_start, node_id
        from json_to_recordset(${JSON.stringify(known)}::json) as lease (
               tenant_id uuid, budget_id uuid, period_start timestamptz, node_id uuid)),
    own as (
      select tenant_id, budget_id, period_start, node_id, amount_microdollars, expires_at from budget_leases
       where node_id = any (${holderIds}::uuid[])
       order by tenant_id, budget_id, period_start
         for update),
    kept as (
      update budget_leases lease set expires_at = ${after(leaseMs)}
        from own join known using (tenant_id, budget_id, period_start, node_id)
       where (lease.tenant_id, lease.budget_id, lease.period_start, lease.node_id)
           = (own.tenant_id, own.budget_id, own.period_start, own.node_id))
    select tenant_id, budget_id, (extract(epoch from period_start) * 1000)::bigint as period_start_ms, node_id,
           amount_microdollars, expires_at::text as beat,
           (tenant_id, budget_id, period_start, node_id) in (select * from known) as kept
      from own`);
}

/** Of rows that an answer which never came left behind; none that has been added to since they were seen. */
export async function deleteStrayLeases(db: Db, strays: readonly OwnLease[]): Promise<void> {
  await db.query(sql`
    delete from budget_leases lease
     using json_to_recordset(${JSON.stringify(strays)}::json) as stray (
             tenant_id uuid, budget_id uuid, period_start_ms bigint, node_id uuid, beat timestamptz)
     where lease.tenant_id = stray.tenant_id and lease.budget_id = stray.budget_id
       and lease.period_start = to_timestamp(stray.period_start_ms / 1000) and lease.node_id = stray.node_id
       and lease.expires_at = stray.beat`);
}

/** A holder and the last sign of life it gave. */
export interface HolderBeat {
  node_id: string;
  beat: string;
}

export async function listOtherHolders(db: Db, holderIds: readonly string[]): Promise<HolderBeat[]> {
  return db.query<HolderBeat>(sql`
    select node_id, max(expires_at)::text as beat from budget_leases
     where node_id <> all (${holderIds}::uuid[])
     group by node_id`);
}

/** Gives everybody back what these hold, unless they gave a sign of life since. */
export async function deleteLeasesOfSilent(db: Db, silent: readonly HolderBeat[]): Promise<void> {
  await db.query(sql`
    delete from budget_leases
     using json_to_recordset(${JSON.stringify(silent)}::json) as silent (node_id uuid, beat timestamptz)
     where budget_leases.node_id = silent.node_id and budget_leases.expires_at <= silent.beat`);
}

/** At a node's start, once everything of its earlier runs is committed: their leases hold nothing any more. */
export async function deleteLeasesOfNodes(db: Db, nodeIds: readonly string[]): Promise<void> {
  await db.query(sql`delete from budget_leases where node_id = any (${nodeIds}::uuid[])`);
}

export interface SpentOfLease {
  tenant_id: string;
  budget_id: string;
  period_start: string;
  holder_id: string;
  cost_microdollars: number;
}

/**
 * What requests really cost comes off the leases they had reserved from, in the transaction that commits it to
 * the budgets.
 */
export async function spendLeases(db: Db, spent: readonly SpentOfLease[]): Promise<void> {
  await db.query(sql`
    with spent as (
      select lease.tenant_id, lease.budget_id, lease.period_start, lease.node_id, spent.cost_microdollars
        from json_to_recordset(${JSON.stringify(spent)}::json) as spent (
               tenant_id uuid, budget_id uuid, period_start timestamptz, holder_id uuid, cost_microdollars bigint)
        join budget_leases lease on lease.tenant_id = spent.tenant_id and lease.budget_id = spent.budget_id
         and lease.period_start = spent.period_start and lease.node_id = spent.holder_id
       order by lease.tenant_id, lease.budget_id, lease.period_start
         for update of lease)
    update budget_leases lease
       set amount_microdollars = greatest(lease.amount_microdollars - spent.cost_microdollars, 0)
      from spent
     where (lease.tenant_id, lease.budget_id, lease.period_start, lease.node_id)
         = (spent.tenant_id, spent.budget_id, spent.period_start, spent.node_id)`);
}
