import { Type } from 'typebox';
import {
  Microdollars,
  nullable,
  oneOf,
  operation,
  PageQuery,
  page,
  Timestamp,
  Usd,
  Uuid,
} from './operation.ts';

export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'expired'] as const;

export const DEFAULT_GRANT_HOURS = 24;
export const MAX_GRANT_HOURS = 720;

export const BudgetApproval = Type.Object({
  id: Uuid,
  budget_id: Uuid,
  status: oneOf(APPROVAL_STATUSES, { description: 'expired: approved, and its time is over' }),
  requested_at: Timestamp,
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'the request that was refused: what it would have cost, and what stood against it',
  }),
  decided_at: nullable(Timestamp),
  decided_by: nullable(Type.String()),
  extra_microdollars: nullable(Microdollars),
  extra_usd: nullable(Usd),
  approved_until: nullable(Timestamp),
});

export const budgetApprovalsOperations = {
  listBudgetApprovals: operation({
    method: 'GET',
    path: '/v1/budget-approvals',
    auth: 'tenant',
    tag: 'Budget approvals',
    summary: 'Requests for more than a budget allows, newest first',
    query: Type.Object({ status: Type.Optional(oneOf(APPROVAL_STATUSES)), ...PageQuery }),
    success: 200,
    response: page(BudgetApproval),
  }),
  approveBudgetApproval: operation({
    method: 'POST',
    path: '/v1/budget-approvals/{id}/approve',
    auth: 'tenant',
    tag: 'Budget approvals',
    summary: 'Grant more for a while; the budget’s limit falls back by itself',
    body: Type.Object({
      extra_usd: Type.Number({ exclusiveMinimum: 0, description: 'more than 0, up to six decimals' }),
      duration_hours: Type.Optional(
        Type.Integer({
          minimum: 1,
          default: DEFAULT_GRANT_HOURS,
          description: `more than ${MAX_GRANT_HOURS} is cut to ${MAX_GRANT_HOURS}`,
        }),
      ),
    }),
    success: 200,
    response: Type.Object({
      ...BudgetApproval.properties,
      duration_hours: Type.Integer({ description: 'as granted' }),
      duration_capped: Type.Boolean({ description: 'less was granted than asked for' }),
    }),
    refusals: ['conflict'],
  }),
  denyBudgetApproval: operation({
    method: 'POST',
    path: '/v1/budget-approvals/{id}/deny',
    auth: 'tenant',
    tag: 'Budget approvals',
    summary: 'Leave the budget as it is',
    success: 200,
    response: BudgetApproval,
    refusals: ['conflict'],
  }),
};
