import type { Server } from 'node:http';
import { join } from 'node:path';
import type { Logger } from '../adapters/log.ts';
import type { Config } from '../config.ts';
import type { Database } from '../store/database.ts';
import { ControlListener } from './control-listener.ts';
import type { ProxyParts } from './handle.ts';
import { Ingest } from './ingest.ts';
import { Journal } from './journal/journal.ts';
import { findInterrupted } from './journal/replay.ts';
import { recordInterrupted } from './meter.ts';
import { createProxyServer } from './server.ts';
import type { Snapshots } from './snapshot.ts';
import { closeEstimator } from './tap/estimate.ts';
import { closeUpstreams, openUpstreams } from './upstreams.ts';

/** How often a shutdown looks whether the last requests are done. */
const DRAIN_LOOK_MS = 20;
/** After the time for draining is up and the connections are cut, their records are still written. */
const SETTLE_MS = 5_000;

export interface DataPlaneOptions {
  config: Config;
  databaseUrl: string;
  /** For the ingest alone, so that a busy API cannot starve it. */
  database: Database;
  snapshots: Snapshots;
  ledgerSecret: string;
  log: Logger;
  nowMs: () => number;
}

export interface DataPlane {
  server: Server;
  /** Once the schema is there: the price book, what an earlier run left behind, and the way into the database. */
  start(): Promise<void>;
  /** Lets requests in flight end, then writes everything down. */
  stop(): Promise<void>;
}

/** The proxy of one process: its server, its journal, and what carries the journal on. */
export async function openDataPlane(options: DataPlaneOptions): Promise<DataPlane> {
  const { config, log, snapshots } = options;
  const directory = join(config.dataDir, 'journal');
  const interrupted = await findInterrupted(directory, log);
  const journal = new Journal({ directory, maxBytes: config.journalMaxBytes, log });
  const upstreams = openUpstreams(config.upstreamUrls, config.upstreamTimeoutMs);
  const control = new ControlListener({ url: options.databaseUrl, snapshots, log });
  const ingest = new Ingest({
    database: options.database,
    journal,
    ledgerSecret: options.ledgerSecret,
    log,
    onCommitted: () => {},
  });
  let draining = false;
  const parts: ProxyParts = {
    snapshots,
    journal,
    upstreams,
    maxBodyBytes: config.maxBodyBytes,
    drainOnAbort: config.onClientAbort === 'drain',
    draining: () => draining,
    nowMs: options.nowMs,
    log,
  };
  const { server, inFlight } = createProxyServer(parts);
  let started = false;
  return {
    server,
    async start() {
      await snapshots.refreshPrices();
      for (const request of interrupted) await journal.end(recordInterrupted(request, snapshots.prices));
      control.start();
      ingest.start();
      started = true;
    },
    async stop() {
      draining = true;
      server.close();
      const idle = () => inFlight() === 0;
      await until(idle, config.drainMs);
      server.closeAllConnections();
      await until(idle, SETTLE_MS);
      if (started) await ingest.stop();
      await control.stop();
      await journal.close();
      await closeUpstreams(upstreams);
      await closeEstimator();
    },
  };
}

async function until(holds: () => boolean, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!holds() && performance.now() < endMs)
    await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
}
