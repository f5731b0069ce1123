import { recordJobEnd, recordJobStart } from '../store/job-runs.ts';
import type { TaskName } from '../store/jobs.ts';
import type { JobParts, Task } from './task.ts';

/** The same task, with when it ran and how it went written down for the operator. */
export function recorded(parts: JobParts, name: TaskName, task: Task): Task {
  return async (payload) => {
    await parts.database.asSystem((db) => recordJobStart(db, name, new Date(parts.nowMs())));
    const startedMs = performance.now();
    let error: string | null = null;
    try {
      await task(payload);
    } catch (fault) {
      error = (fault as Error).message || String(fault);
      throw fault;
    } finally {
      const end = {
        at: new Date(parts.nowMs()),
        durationMs: Math.round(performance.now() - startedMs),
        error,
      };
      // What the task did stands, whether or not it can be written down.
      await parts.database
        .asSystem((db) => recordJobEnd(db, name, end))
        .catch((fault: Error) =>
          parts.log.warn({ fault: fault.message, job: name }, 'a job run was not recorded'),
        );
    }
  };
}
