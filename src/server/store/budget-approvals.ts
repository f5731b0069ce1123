import sql, { empty, type Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { APPROVAL_STATUSES } from '../../contract/budget-approvals.ts';
import { type BudgetScopeType, describeScope, shortUsd } from '../domain/budgets.ts';
import { raiseAlert } from './alerts.ts';
import type { Db } from './database.ts';

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export interface ApprovalRow {
  id: string;
  budget_id: string;
  status: ApprovalStatus;
  requested_at: Date;
  details: Record<string, unknown>;
  decided_at: Date | null;
  decided_by: string | null;
  extra_microdollars: number | null;
  approved_until: Date | null;
}

/** A grant whose time is over is shown as expired; nothing has to run for that. */
function columns(at: Date): Sql {
  return sql`
    id, budget_id, case when status = 'approved' and approved_until <= ${at} then 'expired' else status end as status,
    requested_at, details, decided_at, decided_by, extra_microdollars, approved_until`;
}

function withStatus(status: ApprovalStatus | null, at: Date): Sql {
  switch (status) {
    case null:
      return empty;
    case 'approved':
      return sql`and status = 'approved' and approved_until > ${at}`;
    case 'expired':
      return sql`and status = 'approved' and approved_until <= ${at}`;
    default:
      return sql`and status = ${status}`;
  }
}

/**
 * Asks for more than a budget allows, unless somebody asks already, and lets people know. Of any number at
 * once, one asks: true for that one. False too when the budget is gone or asks nobody.
 */
export async function requestApproval(
  db: Db,
  tenantId: string,
  budgetId: string,
  /** What was refused, for the eyes of whoever decides: the contract shows it as it is. */
  details: Record<string, unknown>,
): Promise<boolean> {
  const asked = await db.query<{ id: string }>(sql`
    insert into budget_approvals (tenant_id, id, budget_id, details)
    select tenant_id, ${uuidv7()}, id, ${JSON.stringify(details)}
      from budgets
     where tenant_id = ${tenantId} and id = ${budgetId} and mode = 'approval' and deleted_at is null
        on conflict (tenant_id, budget_id) where status = 'pending' do nothing
    returning id`);
  const approval = asked[0];
  if (!approval) return false;
  const budgets = await db.query<{
    scope_type: BudgetScopeType;
    scope_id: string | null;
    agent_name: string | null;
    amount_microdollars: number;
    team_name: string | null;
  }>(sql`
    select scope_type, scope_id, agent_name, amount_microdollars,
           (select name from teams where tenant_id = ${tenantId} and id::text = scope_id) as team_name
      from budgets where tenant_id = ${tenantId} and id = ${budgetId}`);
  const budget = budgets[0]!;
  const scope = { scopeType: budget.scope_type, scopeId: budget.scope_id, agentName: budget.agent_name };
  await raiseAlert(db, {
    tenantId,
    type: 'budget_threshold',
    severity: 'critical',
    title:
      `Approval needed: the budget of ${shortUsd(budget.amount_microdollars)} for ` +
      `${describeScope(scope, budget.team_name)} is used up and a request was refused`,
    metadata: { budget_id: budgetId, approval_id: approval.id, ...details },
    cause: `approval:${approval.id}`,
  });
  return true;
}

export async function listApprovals(
  db: Db,
  tenantId: string,
  filter: { status: ApprovalStatus | null; at: Date },
  page: { limit: number; offset: number },
): Promise<{ rows: ApprovalRow[]; total: number }> {
  const matching = sql`tenant_id = ${tenantId} ${withStatus(filter.status, filter.at)}`;
  const rows = await db.query<ApprovalRow>(sql`
    select ${columns(filter.at)} from budget_approvals where ${matching}
     order by id desc limit ${page.limit} offset ${page.offset}`);
  const counted = await db.query<{ total: number }>(sql`
    select count(*) as total from budget_approvals where ${matching}`);
  return { rows, total: counted[0]!.total };
}

export async function approvalExists(db: Db, tenantId: string, id: string): Promise<boolean> {
  const rows = await db.query(sql`select from budget_approvals where tenant_id = ${tenantId} and id = ${id}`);
  return rows.length === 1;
}

export type Decision = { decidedBy: string; at: Date } & (
  | { status: 'approved'; extraMicrodollars: number; approvedUntil: Date }
  | { status: 'denied' }
);

/** Null when it was decided before, or there is no such thing: of several at once, one decides. */
export async function decideApproval(
  db: Db,
  tenantId: string,
  id: string,
  decision: Decision,
): Promise<ApprovalRow | null> {
  const grant = decision.status === 'approved' ? decision : null;
  const rows = await db.query<ApprovalRow>(sql`
    update budget_approvals
       set status = ${decision.status}, decided_at = ${decision.at}, decided_by = ${decision.decidedBy},
           extra_microdollars = ${grant?.extraMicrodollars ?? null},
           approved_until = ${grant?.approvedUntil ?? null}
     where tenant_id = ${tenantId} and id = ${id} and status = 'pending'
    returning ${columns(decision.at)}`);
  return rows[0] ?? null;
}

/** For a budget that goes: nothing is left to approve. */
export async function denyPendingApproval(
  db: Db,
  tenantId: string,
  budgetId: string,
  decision: { decidedBy: string; at: Date },
): Promise<void> {
  await db.query(sql`
    update budget_approvals set status = 'denied', decided_at = ${decision.at}, decided_by = ${decision.decidedBy}
     where tenant_id = ${tenantId} and budget_id = ${budgetId} and status = 'pending'`);
}
