import type { Logger } from '../adapters/log.ts';
import type { Mailer } from '../adapters/mailer.ts';
import type { Vault } from '../adapters/vault.ts';
import type { Database } from '../store/database.ts';

/** What the jobs work with. */
export interface JobParts {
  /** The queue keeps connections of its own. */
  databaseUrl: string;
  database: Database;
  vault: Vault;
  mailer: Mailer;
  /** The dashboard as users reach it, without a slash at its end: links in mails begin with it. */
  dashboardUrl: string;
  nowMs: () => number;
  log: Logger;
}

/** Throws to be tried again later. May run twice, so doing it twice must do no harm. */
export type Task = (payload: unknown) => Promise<void>;
