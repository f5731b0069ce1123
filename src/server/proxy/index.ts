import type { Server } from 'node:http';
import { join } from 'node:path';
import type { Logger } from '../adapters/log.ts';
import type { Metrics } from '../adapters/metrics.ts';
import type { Config } from '../config.ts';
import type { Database } from '../store/database.ts';
import { deleteLeasesOfNodes } from '../store/leases.ts';
import { ApprovalDesk } from './approval-desk.ts';
import { ControlListener } from './control-listener.ts';
import type { ProxyParts } from './handle.ts';
import { Ingest } from './ingest.ts';
import { Journal } from './journal/journal.ts';
import { readLeftBehind } from './journal/replay.ts';
import { claimJournal } from './journal/slots.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { meterInterrupted } from './meter.ts';
import { ModelWatch } from './model-watch.ts';
import { keepOnlyNodeId, takeNodeId } from './node-id.ts';
import { OutputHistory } from './output-history.ts';
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
  journalSlot: number;
  databaseUrl: string;
  /** For the ingest alone, so that a busy API cannot starve it. */
  database: Database;
  /** For budgets: gives up soon, because requests wait for it. */
  leaseDatabase: Database;
  snapshots: Snapshots;
  ledgerSecret: string;
  metrics: Metrics;
  /** Told after every batch that was written. */
  onRecorded: () => void;
  log: Logger;
  nowMs: () => number;
}

export interface DataPlaneStatus {
  requestsInFlight: number;
  journal: { bytes: number; recordsPending: number; writable: boolean };
  ingest: { lagMs: number | null; lastError: string | null };
}

export interface DataPlane {
  server: Server;
  status(): DataPlaneStatus;
  /** Once the schema is there: the price book, what an earlier run left behind, and the way into the database. */
  start(): Promise<void>;
  /** Lets requests in flight end, then writes everything down. */
  stop(): Promise<void>;
}

/** The proxy of one process: its server, its journal, and what carries the journal on. */
export async function openDataPlane(options: DataPlaneOptions): Promise<DataPlane> {
  const { config, log, snapshots } = options;
  const node = await openNode(options);
  const { journal, leases, control, ingest } = node;
  const upstreams = openUpstreams(config.upstreamUrls, config.upstreamTimeoutMs);
  let draining = false;
  const parts: ProxyParts = {
    snapshots,
    leases,
    history: new OutputHistory(),
    approvals: new ApprovalDesk({ database: options.leaseDatabase, log }),
    journal,
    upstreams,
    maxBodyBytes: config.maxBodyBytes,
    drainOnAbort: config.onClientAbort === 'drain',
    draining: () => draining,
    metrics: options.metrics,
    nowMs: options.nowMs,
    log,
  };
  const { server, inFlight } = createProxyServer(parts);
  let started = false;
  return {
    server,
    status: () => ({
      requestsInFlight: inFlight(),
      journal: {
        bytes: journal.bytes,
        recordsPending: ingest.recordsPending,
        writable: journal.writable,
      },
      ingest: { lagMs: ingest.lagMs(performance.now()), lastError: ingest.lastError },
    }),
    async start() {
      await snapshots.refreshPrices();
      await Promise.all(
        node.interrupted.map((request) => journal.end(request, meterInterrupted(request, snapshots.prices))),
      );
      control.start();
      leases.start();
      ingest.start();
      started = true;
      node.releaseEarlierRuns();
    },
    async stop() {
      draining = true;
      server.close();
      const idle = () => inFlight() === 0;
      await until(idle, config.drainMs);
      server.closeAllConnections();
      await until(idle, SETTLE_MS);
      if (started) await ingest.stop();
      await leases.stop();
      await control.stop();
      await journal.close();
      await closeUpstreams(upstreams);
      await closeEstimator();
    },
  };
}

/** What this process remembers, owes and hears as one node among others. */
async function openNode(options: DataPlaneOptions) {
  const { config, database, log, nowMs, snapshots } = options;
  const directory = await claimJournal(join(config.dataDir, 'journal'), options.journalSlot, config.workers);
  const { interrupted, records: recordsLeftBehind } = await readLeftBehind(directory, log);
  const journal = new Journal({ directory, maxBytes: config.journalMaxBytes, log });
  const { nodeId, earlierNodeIds } = await takeNodeId(directory);
  const leases = new LeaseKeeper({ database: options.leaseDatabase, nodeId, nowMs, log });
  snapshots.onRefreshed((tenantId) => leases.tenantChanged(tenantId));
  const control = new ControlListener({
    url: options.databaseUrl,
    snapshots,
    onRecall: (recall) => leases.recalled(recall),
    log,
  });
  const models = new ModelWatch();
  const { ledgerSecret } = options;
  const ingest = new Ingest({
    database,
    journal,
    recordsLeftBehind,
    ledgerSecret,
    nowMs,
    log,
    models,
    onCommitted: (records, spent) => {
      leases.committed(spent);
      models.remember(records);
      options.onRecorded();
    },
  });
  /** What earlier runs had leased is accounted for when everything they wrote down is in the database. */
  const releaseEarlierRuns = () => {
    if (earlierNodeIds.length === 0) return;
    ingest.caughtUp
      .then(() => database.asSystem((db) => deleteLeasesOfNodes(db, earlierNodeIds)))
      .then(() => keepOnlyNodeId(directory, nodeId))
      .catch((error: Error) => log.warn({ err: error }, 'old leases run out by themselves'));
  };
  return { interrupted, journal, leases, control, ingest, releaseEarlierRuns };
}

async function until(holds: () => boolean, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!holds() && performance.now() < endMs)
    await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
}
