import { Type } from 'typebox';
import { Microdollars, nullable, oneOf, operation, Timestamp, Usd, Uuid } from './operation.ts';
import { scopeName } from './scope.ts';

export const BUDGET_SCOPES = ['organization', 'team', 'service', 'agent'] as const;
export const BUDGET_MODES = ['soft', 'hard', 'approval'] as const;
export const BUDGET_PERIODS = ['daily', 'weekly', 'monthly'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** Budgets spell their periods as adverbs; quotas and the program itself say day, week and month. */
const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const;
const ADVERBS = { day: 'daily', week: 'weekly', month: 'monthly' } as const;

export function readBudgetPeriod(period: BudgetPeriod): 'day' | 'week' | 'month' {
  return PERIODS[period];
}

export function showBudgetPeriod(period: 'day' | 'week' | 'month'): BudgetPeriod {
  return ADVERBS[period];
}

/** The list is not paged and every node holds it in memory. */
export const MAX_BUDGETS = 500;
/** Sums of a few of these still fit an exact integer of microdollars. */
export const MAX_LIMIT_USD = 1_000_000_000;

const AmountUsd = Type.Number({
  exclusiveMinimum: 0,
  description: `more than 0, at most ${MAX_LIMIT_USD}, up to six decimals`,
  'x-missing': 'amount_required',
  'x-invalid': 'amount_required',
});

export const Budget = Type.Object({
  id: Uuid,
  scope_type: oneOf(BUDGET_SCOPES),
  scope_id: nullable(Type.String({ description: 'the team’s id or the service’s name' })),
  agent_name: nullable(Type.String()),
  amount_usd: Type.Number(),
  period: oneOf(BUDGET_PERIODS),
  mode: oneOf(BUDGET_MODES),
  period_start: Timestamp,
  period_end: Timestamp,
  resets_at: Timestamp,
  current_spend_microdollars: Microdollars,
  current_spend_usd: Usd,
  reserved_microdollars: Type.Integer({ description: 'held for requests that are under way' }),
  reserved_usd: Usd,
  effective_limit_microdollars: Type.Integer({ description: 'the amount and every grant in force' }),
  effective_limit_usd: Usd,
  utilization: Type.Number({ description: 'current spend by effective limit; 1 is all of it' }),
  created_at: Timestamp,
});

export const budgetsOperations = {
  createBudget: operation({
    method: 'POST',
    path: '/v1/budgets',
    auth: 'tenant',
    tag: 'Budgets',
    summary: 'Create a budget: soft alerts, hard blocks, approval blocks and asks',
    body: Type.Object({
      scope_type: Type.Optional(
        oneOf(BUDGET_SCOPES, { default: 'organization', 'x-invalid': 'invalid_scope_type' }),
      ),
      scope_id: Type.Optional(scopeName('a team’s id, slug or name, or a service’s name')),
      agent_name: Type.Optional(scopeName('the X-Gateway-Agent of the requests; for the scope agent')),
      amount_usd: AmountUsd,
      period: Type.Optional(oneOf(BUDGET_PERIODS, { default: 'monthly' })),
      mode: Type.Optional(oneOf(BUDGET_MODES, { default: 'soft' })),
    }),
    success: 201,
    response: Budget,
    refusals: ['amount_required', 'invalid_scope_type', 'scope_value_required', 'limit_exceeded'],
  }),
  listBudgets: operation({
    method: 'GET',
    path: '/v1/budgets',
    auth: 'tenant',
    tag: 'Budgets',
    summary: 'All budgets with what is spent and reserved of them',
    success: 200,
    response: Type.Array(Budget),
  }),
  getBudget: operation({
    method: 'GET',
    path: '/v1/budgets/{id}',
    auth: 'tenant',
    tag: 'Budgets',
    summary: 'One budget with what is spent and reserved of it',
    success: 200,
    response: Budget,
  }),
  updateBudget: operation({
    method: 'PUT',
    path: '/v1/budgets/{id}',
    auth: 'tenant',
    tag: 'Budgets',
    summary: 'Change amount, period or mode; in force at once',
    body: Type.Object({
      amount_usd: Type.Optional(AmountUsd),
      period: Type.Optional(oneOf(BUDGET_PERIODS)),
      mode: Type.Optional(oneOf(BUDGET_MODES)),
    }),
    success: 200,
    response: Budget,
    refusals: ['amount_required'],
  }),
  deleteBudget: operation({
    method: 'DELETE',
    path: '/v1/budgets/{id}',
    auth: 'tenant',
    tag: 'Budgets',
    summary: 'Delete a budget; an approval that waits for it is denied',
    success: 204,
    response: null,
  }),
};
