import cluster, { type Worker } from 'node:cluster';
import { join } from 'node:path';
import type { Logger } from './adapters/log.ts';
import type { WorkerStart } from './worker.ts';

const RESTART_AFTER_MS = 1_000;

export interface Workers {
  /** Settled when every worker takes calls. */
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
  const readies: Array<Promise<void>> = [];

  const fork = (slot: number): Promise<void> => {
    const worker = cluster.fork();
    workers.set(slot, worker);
    worker.on('exit', (code, signal) => {
      workers.delete(slot);
      if (stopping) return;
      log.error({ slot, code, signal }, 'a proxy process ended; starting it again');
      setTimeout(() => void (stopping || fork(slot)), RESTART_AFTER_MS);
    });
    return new Promise((resolve) => {
      worker.on('message', (message) => {
        // Through the channel, not the environment: these are everybody's keys. And only when it listens: a
        // message that comes before is lost.
        if (message === 'listening for orders') worker.send({ ...start, slot });
        else if (message === 'ready') resolve();
      });
    });
  };
  for (let slot = 1; slot <= count; slot += 1) readies.push(fork(slot));

  return {
    ready: Promise.all(readies).then(() => {}),
    async stop() {
      stopping = true;
      const ends = [...workers.values()].map(
        (worker) => new Promise((resolve) => worker.once('exit', resolve)),
      );
      for (const worker of workers.values()) worker.send('stop');
      await Promise.all(ends);
    },
  };
}
