import cluster, { type Worker } from 'node:cluster';
import { join } from 'node:path';
import type { Logger } from './adapters/log.ts';
import type { WorkerStart } from './worker.ts';

const RESTART_AFTER_MS = 1_000;

export interface Workers {
  /** Settled when every worker takes calls; rejected when one of them cannot even start. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Several proxy processes on one port. Each is a node of its own: its journal, its leases, its view of the
 * control state. One that dies is started again, and finds in its journal what was in flight.
 */
export function startWorkers(count: number, start: Omit<WorkerStart, 'slot'>, log: Logger): Workers {
  cluster.setupPrimary({ exec: join(import.meta.dirname, 'worker.js') });
  const workers = new Map<number, Worker>();
  let stopping = false;

  const fork = (slot: number): Promise<void> => {
    const worker = cluster.fork();
    workers.set(slot, worker);
    // A message to one that has just died; its exit says all there is to say.
    worker.on('error', (error) => log.debug({ slot, err: error }, 'a proxy process could not be reached'));
    return new Promise((resolve, reject) => {
      let isReady = false;
      worker.on('message', (message) => {
        if (message === 'ready') {
          isReady = true;
          return resolve();
        }
        // Through the channel, not the environment: these are everybody's keys. And only when it listens: a
        // message that comes before is lost.
        if (message === 'listening for orders') worker.send(stopping ? 'stop' : { ...start, slot });
      });
      worker.on('exit', (code, signal) => {
        workers.delete(slot);
        if (stopping) return resolve();
        if (!isReady) reject(new Error(`a proxy process ended while it started (${signal ?? code})`));
        log.error({ slot, code, signal }, 'a proxy process ended; starting it again');
        setTimeout(() => void (stopping || fork(slot).catch(() => {})), RESTART_AFTER_MS);
      });
    });
  };
  const starts = Array.from({ length: count }, (_, index) => fork(index + 1));

  return {
    ready: Promise.all(starts).then(() => {}),
    async stop() {
      stopping = true;
      const ends = [...workers.values()].map((worker) => {
        const ended = new Promise((resolve) => worker.once('exit', resolve));
        worker.send('stop');
        return ended;
      });
      await Promise.all(ends);
    },
  };
}
