import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import type { Logger } from '../adapters/log.ts';
import { deleteOldFailedJobs, markWorkerAlive, releaseJobsOfDeadWorkers } from '../store/jobs.ts';

const LOOK_MS = 10_000;
const GRACE_SECONDS = 15;
const FAILED_KEPT_DAYS = 30;
const LOOKS_PER_CLEANING = 360;

/**
 * Marks this node's worker as alive, and gives back the jobs that a killed node held: a mail or a delivery is
 * late by seconds then, not by hours. Once an hour it clears away what was given up long ago. Ends when told to,
 * and never throws: what fails is tried at the next look.
 */
export async function watchWorkers(
  pool: Pool,
  workerId: string,
  ended: AbortSignal,
  log: Logger,
): Promise<void> {
  let client: PoolClient | null = null;
  let looks = 0;
  while (!ended.aborted) {
    try {
      if (client === null) {
        client = await pool.connect();
        await markWorkerAlive(client, workerId);
      }
      await releaseJobsOfDeadWorkers(client, GRACE_SECONDS);
      if (looks % LOOKS_PER_CLEANING === 0) await deleteOldFailedJobs(client, FAILED_KEPT_DAYS);
      looks += 1;
    } catch (error) {
      log.debug({ fault: (error as Error).message }, 'could not look for dead workers');
      client?.release(true);
      client = null;
    }
    await sleep(LOOK_MS, undefined, { signal: ended }).catch(() => undefined);
  }
  // Closed, not given back: the mark must end with the worker.
  client?.release(true);
}
