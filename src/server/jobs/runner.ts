import { setTimeout as sleep } from 'node:timers/promises';
import { parseCronItems, type Runner, run, Logger as WorkerLogger } from 'graphile-worker';
import type { Logger } from '../adapters/log.ts';
import { deleteOldChanges } from '../store/control-changes.ts';
import { migrateJobQueue, openJobQueuePool, type TaskName } from '../store/jobs.ts';
import { deleteOldPasswordResets } from '../store/password-resets.ts';
import { deleteExpiredRevocations } from '../store/tokens.ts';
import { forgotPassword, sendMail } from './mail.ts';
import { SCHEDULE } from './schedule.ts';
import type { JobParts, Task } from './task.ts';

const JOBS_AT_ONCE = 4;
/** One listens, one keeps the clock, the rest fetch and finish jobs. */
const QUEUE_CONNECTIONS = 4;
const POLL_MS = 2_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 15_000;
/** Jobs running at shutdown may end; past this they are given back to the queue. */
const STOP_PATIENCE_MS = 10_000;

function tasksOf(parts: JobParts): Record<TaskName, Task> {
  return {
    send_mail: sendMail(parts),
    forgot_password: forgotPassword(parts),
    prune_revoked_tokens: () => parts.database.asSystem(deleteExpiredRevocations),
    prune_control_changes: () => parts.database.asSystem(deleteOldChanges),
    prune_password_resets: () => parts.database.asSystem(deleteOldPasswordResets),
  };
}

/**
 * Runs the jobs of this node until stopped. A database that is away, at the start or later, is waited for:
 * returns after the first try, whether it succeeded or not, and never throws on its account.
 */
export async function startJobs(parts: JobParts): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController();
  let markTried = () => {};
  const triedOnce = new Promise<void>((resolve) => {
    markTried = resolve;
  });
  const ended = keepRunning(parts, stopping.signal, markTried);
  await triedOnce;
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

async function keepRunning(parts: JobParts, stopping: AbortSignal, markTried: () => void): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  while (!stopping.aborted) {
    try {
      await runUntilBroken(parts, stopping, () => {
        pauseMs = FIRST_PAUSE_MS;
        markTried();
      });
    } catch (error) {
      parts.log.warn(
        { fault: (error as Error).message },
        'jobs stopped; they start again when the database is back',
      );
    }
    markTried();
    if (stopping.aborted) return;
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
}

async function runUntilBroken(parts: JobParts, stopping: AbortSignal, onRunning: () => void): Promise<void> {
  await migrateJobQueue(parts.databaseUrl);
  const pool = openJobQueuePool(parts.databaseUrl, QUEUE_CONNECTIONS, (error) =>
    parts.log.debug({ fault: error.message }, 'a connection of the job queue broke'),
  );
  try {
    const runner = await run({
      pgPool: pool,
      taskList: tasksOf(parts),
      parsedCronItems: cronItems(),
      concurrency: JOBS_AT_ONCE,
      pollInterval: POLL_MS,
      logger: queueLogger(parts.log),
      // The program stops in its own order; the queue must not end the process behind its back.
      noHandleSignals: true,
    });
    onRunning();
    await untilStopped(runner, stopping);
  } finally {
    // Connections that a dead server never closes must not hold the shutdown.
    await Promise.race([pool.end(), sleep(STOP_PATIENCE_MS, undefined, { ref: false })]);
  }
}

async function untilStopped(runner: Runner, stopping: AbortSignal): Promise<void> {
  let stopped: Promise<unknown> | null = null;
  const stop = () => {
    // "Already stopped" is what was asked for.
    stopped = runner.stop().catch(() => undefined);
    setTimeout(() => runner.kill().catch(() => undefined), STOP_PATIENCE_MS).unref();
  };
  if (stopping.aborted) stop();
  else stopping.addEventListener('abort', stop, { once: true });
  try {
    await runner.promise;
    await stopped;
  } finally {
    stopping.removeEventListener('abort', stop);
  }
}

function cronItems() {
  return parseCronItems(
    SCHEDULE.map(({ task, at, catchUpMs, maxAttempts }) => ({
      task,
      match: at,
      identifier: task,
      options: { backfillPeriod: catchUpMs, maxAttempts },
    })),
  );
}

/** The queue reports every job it runs as "info"; only its complaints are worth a line here. */
function queueLogger(log: Logger): WorkerLogger {
  return new WorkerLogger(() => (level, message) => {
    if (level === 'error' || level === 'warning') log.warn({ fault: message }, 'the job queue complains');
    else log.debug(message);
  });
}
