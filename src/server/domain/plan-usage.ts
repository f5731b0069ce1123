/** Percent of a month's included requests that are told; traffic is never blocked. */
export const PLAN_THRESHOLDS: readonly number[] = [80, 100];

/** Once per threshold and month, which is named by its first day. */
export function planAlertCause(month: string, percent: number): string {
  return `plan:${month}:${percent}`;
}

/** The alert for a threshold of the plan. */
export function planAlert(
  usage: { planTier: string; includedRequests: number; usedRequests: number },
  percent: number,
  month: string,
) {
  const count = (requests: number) => requests.toLocaleString('en-US');
  return {
    type: 'budget_threshold' as const,
    severity: percent >= 100 ? ('critical' as const) : ('warning' as const),
    title:
      `${percent}% of the requests included in the ${usage.planTier} plan are used: ` +
      `${count(usage.usedRequests)} of ${count(usage.includedRequests)} this month; traffic goes on`,
    metadata: {
      plan_tier: usage.planTier,
      threshold: percent / 100,
      included_requests: usage.includedRequests,
      used_requests: usage.usedRequests,
      month,
    },
    cause: planAlertCause(month, percent),
  };
}
