import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseCronItems, type Runner, run, type WorkerEvents, Logger as WorkerLogger } from 'graphile-worker';
import type { Logger } from '../adapters/log.ts';
import { deleteOldChanges } from '../store/control-changes.ts';
import { registerJobs } from '../store/job-runs.ts';
import { migrateJobQueue, openJobQueuePool, type TaskName } from '../store/jobs.ts';
import { deleteOldPasswordResets } from '../store/password-resets.ts';
import { deleteExpiredRevocations } from '../store/tokens.ts';
import { deleteOldDeliveries } from '../store/webhook-deliveries.ts';
import { detectAnomalies } from './anomalies.ts';
import { sendChat } from './chat.ts';
import { correctUnpriced } from './correct-unpriced.ts';
import { buildCostIndex } from './cost-index.ts';
import { watchWorkers } from './dead-workers.ts';
import { deliverEvent } from './deliver-event.ts';
import { sendDigests } from './digest.ts';
import { forgotPassword, sendMail } from './mail.ts';
import { checkPlanUsage } from './plan-usage.ts';
import { announcePriceChange } from './price-changes.ts';
import { checkQuotas } from './quotas.ts';
import { recorded } from './recorded.ts';
import { forgetOldRequests } from './retention.ts';
import { computeSavings } from './savings.ts';
import { SCHEDULE } from './schedule.ts';
import { scrapePrices } from './scrape-prices.ts';
import { withTail } from './tail.ts';
import type { JobParts, Task } from './task.ts';
import { startWebhookSender } from './webhook-sender.ts';

/** Most of them wait for others: mail and chat servers. */
const JOBS_AT_ONCE = 6;
/** One listens, one marks this node as alive, one keeps the clock, the rest fetch and finish jobs. */
const QUEUE_CONNECTIONS = 8;
const POLL_MS = 2_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 15_000;
/** How long jobs that run at the stop may take to end. */
const STOP_PATIENCE_MS = 5_000;
const CLOSE_PATIENCE_MS = 1_000;

/** A job whose task is not in this table waits in the queue, untouched, for a node that knows it. */
function tasksOf(parts: JobParts, wakeSender: () => void): Record<TaskName, Task> {
  return {
    send_mail: sendMail(parts),
    forgot_password: forgotPassword(parts),
    deliver_event: withTail(parts, deliverEvent(parts, wakeSender)),
    send_chat: sendChat(parts),
    detect_anomalies: detectAnomalies(parts),
    send_digests: sendDigests(parts),
    prune_webhook_deliveries: () => parts.database.asSystem(deleteOldDeliveries),
    check_quotas: checkQuotas(parts),
    check_plan_usage: checkPlanUsage(parts),
    announce_price_change: announcePriceChange(parts),
    correct_unpriced: correctUnpriced(parts),
    scrape_prices: scrapePrices(parts),
    compute_savings: computeSavings(parts),
    build_cost_index: buildCostIndex(parts),
    prune_revoked_tokens: () => parts.database.asSystem(deleteExpiredRevocations),
    prune_control_changes: () => parts.database.asSystem(deleteOldChanges),
    prune_password_resets: () => parts.database.asSystem(deleteOldPasswordResets),
    forget_old_requests: forgetOldRequests(parts),
  };
}

/** What runs by the clock is written down; the rest is too many. */
function withRecords(parts: JobParts, tasks: ReturnType<typeof tasksOf>): ReturnType<typeof tasksOf> {
  const all = { ...tasks };
  for (const { task: name } of SCHEDULE) {
    all[name] = recorded(parts, name, tasks[name]);
  }
  return all;
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
  const sender = startWebhookSender(parts);
  const tasks = withRecords(parts, tasksOf(parts, sender.wake));
  const ended = keepRunning({ ...parts, tasks }, stopping.signal, markTried);
  await triedOnce;
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all([ended, sender.stop()]);
    },
  };
}

type RunningParts = JobParts & { tasks: ReturnType<typeof tasksOf> };

async function keepRunning(parts: RunningParts, stopping: AbortSignal, markTried: () => void): Promise<void> {
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

async function runUntilBroken(
  parts: RunningParts,
  stopping: AbortSignal,
  onRunning: () => void,
): Promise<void> {
  await migrateJobQueue(parts.databaseUrl);
  await parts.database.asSystem((db) =>
    registerJobs(
      db,
      SCHEDULE.map(({ task, at }) => ({ name: task, schedule: at })),
    ),
  );
  const pool = openJobQueuePool(parts.databaseUrl, QUEUE_CONNECTIONS, (error) =>
    parts.log.debug({ fault: error.message }, 'a connection of the job queue broke'),
  );
  const ended = new AbortController();
  let watching: Promise<void> | undefined;
  try {
    const events: WorkerEvents = new EventEmitter();
    events.once('pool:create', ({ workerPool }) => {
      watching = watchWorkers(pool, workerPool.id, ended.signal, parts.log);
    });
    const runner = await run({
      pgPool: pool,
      taskList: parts.tasks,
      parsedCronItems: cronItems(),
      concurrency: JOBS_AT_ONCE,
      pollInterval: POLL_MS,
      // One by one the queue would not wait for these writes: a connection that breaks in one of them would end
      // the process (an unhandled rejection) or leave the job locked. In batches it stops, and is started again.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      events,
      logger: queueLogger(parts.log),
      // The program stops in its own order; the queue must not end the process behind its back.
      noHandleSignals: true,
    });
    onRunning();
    await untilStopped(runner, stopping, ended.signal);
  } finally {
    ended.abort();
    await watching;
    // Connections that a dead server never closes must not hold the shutdown.
    await Promise.race([pool.end(), sleep(CLOSE_PATIENCE_MS, undefined, { ref: false })]);
  }
}

/**
 * Ends with the runner, or soon after the stop: a job that does not come to its end is left behind, and its
 * lock is taken off by whoever next looks for dead workers.
 */
async function untilStopped(runner: Runner, stopping: AbortSignal, ended: AbortSignal): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    const stop = () => {
      setTimeout(resolve, STOP_PATIENCE_MS).unref();
      // "Already stopped" is what was asked for.
      runner
        .stop()
        .catch(() => undefined)
        .finally(resolve);
    };
    if (stopping.aborted) stop();
    // Taken off when this run ends, or a database that comes and goes would pile them up.
    else stopping.addEventListener('abort', stop, { once: true, signal: ended });
  });
  const brokeDown = runner.promise.then(() => (stopping.aborted ? stopped : undefined));
  await Promise.race([brokeDown, stopped]);
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
