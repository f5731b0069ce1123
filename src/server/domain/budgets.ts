import type { BUDGET_MODES, BUDGET_SCOPES } from '../../contract/budgets.ts';
import { type Refusal, refuse } from '../../contract/errors.ts';
import { formatUsd } from '../../contract/money.ts';
import type { Period } from './period.ts';
import { readScopeName } from './scope.ts';

export type BudgetScopeType = (typeof BUDGET_SCOPES)[number];
export type BudgetMode = (typeof BUDGET_MODES)[number];

export interface BudgetScope {
  scopeType: BudgetScopeType;
  /** The team's id or the service's name; null for the organization and for agents. */
  scopeId: string | null;
  agentName: string | null;
}

export interface Budget extends BudgetScope {
  id: string;
  amountMicrodollars: number;
  period: Period;
  mode: BudgetMode;
}

/** Whom a request is charged to, as far as budgets look at it. */
export interface BudgetFacts {
  teamId: string | null;
  service: string | null;
  agent: string | null;
}

export interface BudgetThreshold {
  /** Of the effective limit. */
  fraction: 0.5 | 0.8 | 1;
  percent: number;
  severity: 'info' | 'warning' | 'critical';
}

export const BUDGET_THRESHOLDS: readonly BudgetThreshold[] = [
  { fraction: 0.5, percent: 50, severity: 'info' },
  { fraction: 0.8, percent: 80, severity: 'warning' },
  { fraction: 1, percent: 100, severity: 'critical' },
];

/**
 * The scope that a new budget asks for; a team is still whatever its caller calls it. A value that the scope
 * has no use for is refused: dropped, it would leave a budget over far more than was meant.
 */
export function readBudgetScope(given: {
  scope_type: BudgetScopeType;
  scope_id?: string | null;
  agent_name?: string | null;
}): BudgetScope | Refusal {
  const scopeType = given.scope_type;
  const scopeId = readScopeName(given.scope_id);
  const agentName = readScopeName(given.agent_name);
  const takesId = scopeType === 'team' || scopeType === 'service';
  const takesAgent = scopeType === 'agent';
  if (takesId && scopeId === null)
    return refuse('scope_value_required', `A budget of the scope ${scopeType} needs a "scope_id".`);
  if (takesAgent && agentName === null)
    return refuse('scope_value_required', 'A budget of the scope agent needs an "agent_name".');
  if (!takesId && scopeId !== null) return refuseUnused('scope_id', scopeType);
  if (!takesAgent && agentName !== null) return refuseUnused('agent_name', scopeType);
  return { scopeType, scopeId, agentName };
}

function refuseUnused(field: string, scopeType: BudgetScopeType): Refusal {
  return refuse(
    'invalid_field',
    `The field "${field}" is not valid: the scope ${scopeType} has none; leave it out or choose another scope.`,
  );
}

/** Whether what a request costs counts against a budget. */
export function budgetMatches(budget: BudgetScope, facts: BudgetFacts): boolean {
  switch (budget.scopeType) {
    case 'organization':
      return true;
    case 'team':
      return facts.teamId !== null && budget.scopeId === facts.teamId;
    case 'service':
      return facts.service !== null && budget.scopeId === facts.service;
    case 'agent':
      return facts.agent !== null && budget.agentName === facts.agent;
  }
}

/** The amount and every grant in force. */
export function effectiveLimit(amountMicrodollars: number, grantedMicrodollars: number): number {
  return Math.min(amountMicrodollars + grantedMicrodollars, Number.MAX_SAFE_INTEGER);
}

/** The thresholds that spend went through on its way from one figure to a later one, lowest first. */
export function crossedThresholds(
  beforeMicrodollars: number,
  afterMicrodollars: number,
  limitMicrodollars: number,
): BudgetThreshold[] {
  return BUDGET_THRESHOLDS.filter(
    ({ percent }) =>
      !hasReached(beforeMicrodollars, percent, limitMicrodollars) &&
      hasReached(afterMicrodollars, percent, limitMicrodollars),
  );
}

/** Where spend stands already, for a budget made or changed in the middle of its period. */
export function highestThreshold(
  spendMicrodollars: number,
  limitMicrodollars: number,
): BudgetThreshold | null {
  return (
    BUDGET_THRESHOLDS.findLast(({ percent }) => hasReached(spendMicrodollars, percent, limitMicrodollars)) ??
    null
  );
}

/** Whether spend is so many percent of a limit. Exact: the products pass what a double can hold. */
export function hasReached(spendMicrodollars: number, percent: number, limitMicrodollars: number): boolean {
  return BigInt(spendMicrodollars) * 100n >= BigInt(limitMicrodollars) * BigInt(percent);
}

/** The alert for a threshold; its cause makes it one per budget, period and threshold. */
export function budgetAlert(
  budget: Pick<Budget, 'id' | 'period' | 'mode'> & BudgetScope,
  threshold: BudgetThreshold,
  standing: {
    periodStartMs: number;
    spendMicrodollars: number;
    limitMicrodollars: number;
    /** A cost can come late, into a period that has ended. */
    periodIsOver?: boolean;
  },
  /** For the scope team: people know it by its name. */
  teamName: string | null,
) {
  const periodStart = new Date(standing.periodStartMs).toISOString();
  const { spendMicrodollars, limitMicrodollars } = standing;
  const when = standing.periodIsOver
    ? `in the ${budget.period} from ${periodStart.slice(0, 10)}`
    : `this ${budget.period}`;
  return {
    type: 'budget_threshold' as const,
    severity: threshold.severity,
    title:
      `${threshold.percent}% of the budget for ${describeScope(budget, teamName)} is spent: ` +
      `${shortUsd(spendMicrodollars)} of ${shortUsd(limitMicrodollars)} ${when}`,
    metadata: {
      budget_id: budget.id,
      threshold: threshold.fraction,
      scope_type: budget.scopeType,
      scope_id: budget.scopeId,
      agent_name: budget.agentName,
      mode: budget.mode,
      period_start: periodStart,
      spend_microdollars: spendMicrodollars,
      spend_usd: formatUsd(spendMicrodollars),
      limit_microdollars: limitMicrodollars,
      limit_usd: formatUsd(limitMicrodollars),
    },
    cause: `budget:${budget.id}:${periodStart}:${threshold.fraction}`,
  };
}

export function describeScope(scope: BudgetScope, teamName: string | null): string {
  switch (scope.scopeType) {
    case 'organization':
      return 'the organization';
    case 'team':
      return `team ${teamName ?? scope.scopeId}`;
    case 'service':
      return `service ${scope.scopeId}`;
    case 'agent':
      return `agent ${scope.agentName}`;
  }
}

/** For titles: whole cents from a dollar on, cut rather than rounded, and every digit below. Data carry the exact sum. */
export function shortUsd(microdollars: number): string {
  const cut = microdollars < DOLLAR ? microdollars : microdollars - (microdollars % CENT);
  return `$${formatUsd(cut).replace(/(\.\d\d\d*?)0+$/, '$1')}`;
}
const DOLLAR = 1_000_000;
const CENT = 10_000;
