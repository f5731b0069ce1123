import type { TaskName } from '../store/jobs.ts';

export interface ScheduledTask {
  task: TaskName;
  /** Five cron fields: minute, hour, day of month, month, day of week; UTC. */
  at: string;
  /** A run missed while every node was down is made up for, when it is not older than this. */
  catchUpMs: number;
  maxAttempts: number;
}

const HOUR_MS = 60 * 60 * 1000;

/** Everything that happens by the clock. Each run happens once across all nodes. */
export const SCHEDULE: readonly ScheduledTask[] = [
  { task: 'check_quotas', at: '* * * * *', catchUpMs: 0, maxAttempts: 1 },
  { task: 'check_plan_usage', at: '* * * * *', catchUpMs: 0, maxAttempts: 1 },
  { task: 'detect_anomalies', at: '*/5 * * * *', catchUpMs: 0, maxAttempts: 1 },
  { task: 'prune_control_changes', at: '*/10 * * * *', catchUpMs: 0, maxAttempts: 1 },
  // Among the others at 00:30, when it closes the day before.
  { task: 'build_cost_index', at: '*/10 * * * *', catchUpMs: 0, maxAttempts: 3 },
  // Prices correct what waited for them at once; this is for records that came in later than the price.
  { task: 'correct_unpriced', at: '41 * * * *', catchUpMs: 0, maxAttempts: 3 },
  { task: 'compute_savings', at: '0 2 * * *', catchUpMs: 24 * HOUR_MS, maxAttempts: 5 },
  { task: 'send_digests', at: '0 8 * * 1', catchUpMs: 3 * 24 * HOUR_MS, maxAttempts: 10 },
  { task: 'scrape_prices', at: '0 3 * * *', catchUpMs: 24 * HOUR_MS, maxAttempts: 3 },
  { task: 'prune_revoked_tokens', at: '17 1 * * *', catchUpMs: 24 * HOUR_MS, maxAttempts: 5 },
  { task: 'prune_webhook_deliveries', at: '37 1 * * *', catchUpMs: 24 * HOUR_MS, maxAttempts: 5 },
  { task: 'prune_password_resets', at: '27 1 * * *', catchUpMs: 24 * HOUR_MS, maxAttempts: 5 },
  { task: 'forget_old_requests', at: '47 1 * * *', catchUpMs: 24 * HOUR_MS, maxAttempts: 5 },
];
