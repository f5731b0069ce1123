import type { Vault } from '../adapters/vault.ts';
import type { Config } from '../config.ts';
import type { Database, Db } from '../store/database.ts';

/** What the handlers of the management API work with. */
export interface ApiParts {
  database: Database;
  /**
   * A tenant's transaction that touches what proxies hold in memory (keys, provider keys, teams, status):
   * announced to every node with its commit, and in force on this node when it returns.
   */
  changeTenant<T>(tenantId: string, work: (db: Db) => Promise<T>): Promise<T>;
  vault: Vault;
  jwtSecret: Uint8Array;
  ledgerSecret: string;
  config: Config;
  version: string;
  nowMs: () => number;
}
