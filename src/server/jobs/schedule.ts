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
  { task: 'prune_control_changes', at: '*/10 * * * *', catchUpMs: 0, maxAttempts: 1 },
  { task: 'prune_revoked_tokens', at: '17 1 * * *', catchUpMs: 24 * HOUR_MS, maxAttempts: 5 },
  { task: 'prune_password_resets', at: '27 1 * * *', catchUpMs: 24 * HOUR_MS, maxAttempts: 5 },
];
