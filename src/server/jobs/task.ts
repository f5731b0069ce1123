import type { Logger } from '../adapters/log.ts';
import type { Mailer } from '../adapters/mailer.ts';
import type { Outbound } from '../adapters/outbound.ts';
import type { Vault } from '../adapters/vault.ts';
import type { PriceSource } from '../domain/price-sources.ts';
import type { Database } from '../store/database.ts';

/** What the jobs work with. */
export interface JobParts {
  /** The queue keeps connections of its own. */
  databaseUrl: string;
  database: Database;
  vault: Vault;
  mailer: Mailer;
  /** For webhooks and chat. */
  outbound: Outbound;
  /** The pause before each attempt at a webhook delivery, the first included. */
  webhookRetryDelaysSeconds: readonly number[];
  /** The dashboard as users reach it, without a slash at its end: links in mails begin with it. */
  dashboardUrl: string;
  /** Signs the records that correct the ledger. */
  ledgerSecret: string;
  priceSources: readonly PriceSource[];
  /** Zero keeps requests for ever. */
  retentionDays: number;
  nowMs: () => number;
  log: Logger;
}

/** Throws to be tried again later. May run twice, so doing it twice must do no harm. */
export type Task = (payload: unknown) => Promise<void>;
