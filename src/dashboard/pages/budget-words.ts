import { type RowOf, useApi } from '../api.ts';

type Budget = RowOf<'listBudgets'>;

/** Before this much of a period is over, its pace says nothing. */
const MIN_ELAPSED_SHARE = 0.05;

export function useTeamNames(): ReadonlyMap<string, string> {
  const teams = useApi('listTeams');
  return new Map((teams.data ?? []).map((team) => [team.id, team.name]));
}

export function scopeOfBudget(
  budget: Pick<Budget, 'scope_type' | 'scope_id' | 'agent_name'>,
  teamNames: ReadonlyMap<string, string>,
): string {
  switch (budget.scope_type) {
    case 'organization':
      return 'Whole account';
    case 'team':
      return `Team ${teamNames.get(budget.scope_id ?? '') ?? budget.scope_id}`;
    case 'service':
      return `Service ${budget.scope_id}`;
    case 'agent':
      return `Agent ${budget.agent_name}`;
  }
}

/** The share of the limit that will be used when the period ends, if spend goes on at the pace so far. */
export function projectedShare(
  budget: Pick<Budget, 'period_start' | 'period_end' | 'utilization'>,
  nowMs: number,
): number | null {
  const start = Date.parse(budget.period_start);
  const elapsed = (nowMs - start) / (Date.parse(budget.period_end) - start);
  if (elapsed < MIN_ELAPSED_SHARE || elapsed > 1) return null;
  return budget.utilization / elapsed;
}
