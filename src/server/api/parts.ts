import type { Mailer } from '../adapters/mailer.ts';
import type { Outbound } from '../adapters/outbound.ts';
import type { Vault } from '../adapters/vault.ts';
import type { Config } from '../config.ts';
import type { Database, Db } from '../store/database.ts';
import type { LiveTail } from './live-tail.ts';

/** What only the running node itself knows; shown to operators. */
export interface NodeStatus {
  nodeId: string;
  role: string;
  startedAtMs: number;
  /** The pools besides the API's own, by name. */
  pools: Record<string, { total: number; idle: number; waiting: number }>;
  /** Null on a node without a proxy, here and below. */
  requestsInFlight: number | null;
  journal: { recordsPending: number; bytes: number; maxBytes: number } | null;
  /** The lag is the age of the oldest record that is not in the database yet; null when there is none. */
  ingest: { lagMs: number | null; lastError: string | null } | null;
  /** Every node this one knows of, itself included. */
  nodes: ReadonlyArray<{ nodeId: string; role: string | null; lastSeenAtMs: number | null }>;
}

/** What the handlers of the management API work with. */
export interface ApiParts {
  database: Database;
  /**
   * A tenant's transaction that touches what proxies hold in memory (keys, provider keys, teams, status):
   * announced to every node with its commit, and in force on this node when it returns.
   */
  changeTenant<T>(tenantId: string, work: (db: Db) => Promise<T>): Promise<T>;
  vault: Vault;
  mailer: Mailer;
  outbound: Outbound;
  /** One attempt at a webhook delivery, made and recorded now; null when it or its endpoint is gone. */
  attemptDelivery(tenantId: string, deliveryId: string): Promise<{ durationMs: number } | null>;
  liveTail: LiveTail;
  jwtSecret: Uint8Array;
  ledgerSecret: string;
  config: Config;
  version: string;
  nowMs: () => number;
  nodeStatus?: () => NodeStatus;
}
