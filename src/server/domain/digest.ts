import type { DayRange } from './day-range.ts';
import { periodOf } from './period.ts';

const DAY_MS = 86_400_000;
/** From here on a budget is worth a line. */
export const NEAR_LIMIT_PERCENT = 80;

export interface DigestShare {
  name: string;
  costMicrodollars: number;
  requests: number;
}

export interface DigestBudget {
  /** Whose it is: “the organization”, “team Search”. */
  scope: string;
  period: 'day' | 'week' | 'month';
  spendMicrodollars: number;
  limitMicrodollars: number;
}

/** What a tenant is told once a week. */
export interface Digest {
  tenantName: string;
  week: DayRange;
  costMicrodollars: number;
  previousCostMicrodollars: number;
  requests: number;
  topModels: readonly DigestShare[];
  topTeams: readonly DigestShare[];
  budgets: readonly DigestBudget[];
  savings: { totalMicrodollars: number; recommendations: readonly string[] };
  alerts: { open: number; newest: ReadonlyArray<{ severity: string; title: string }> };
}

/** The last week that is over, and the one before it: Monday to Sunday, UTC. */
export function digestWeeks(nowMs: number): { week: DayRange; before: DayRange } {
  const { startMs } = periodOf('week', nowMs);
  const weekEnding = (endMs: number): DayRange => ({
    from: dayOf(endMs - 7 * DAY_MS),
    to: dayOf(endMs - DAY_MS),
  });
  return { week: weekEnding(startMs), before: weekEnding(startMs - 7 * DAY_MS) };
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** In words, because “+∞ %” is none. */
export function describeChange(microdollars: number, previousMicrodollars: number): string {
  if (previousMicrodollars === 0)
    return microdollars === 0 ? 'as the week before' : 'nothing the week before';
  const percent = ((microdollars - previousMicrodollars) / previousMicrodollars) * 100;
  const rounded = Math.abs(percent) < 10 ? Math.round(percent * 10) / 10 : Math.round(percent);
  if (rounded === 0) return 'as the week before';
  return `${Math.abs(rounded)} % ${rounded > 0 ? 'more' : 'less'} than the week before`;
}
