import { forgetRequestsBefore } from '../store/requests.ts';
import type { JobParts, Task } from './task.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Requests older than the days configured are forgotten, whole UTC days at a time; zero keeps them all. */
export function forgetOldRequests(parts: JobParts): Task {
  return async () => {
    if (parts.retentionDays === 0) return;
    const firstKept = new Date(parts.nowMs() - parts.retentionDays * DAY_MS).toISOString().slice(0, 10);
    await parts.database.asSystem((db) => forgetRequestsBefore(db, firstKept));
  };
}
