import { LRUCache } from 'lru-cache';
import type { Logger } from '../adapters/log.ts';
import { requestApproval } from '../store/budget-approvals.ts';
import type { Database } from '../store/database.ts';

/** A budget at its cap is asked about once in this while, however many requests run into it. */
const ASK_AGAIN_MS = 2_000;
const MAX_BUDGETS = 10_000;

/** Asks for approval on behalf of requests that an approval budget stopped. */
export class ApprovalDesk {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #asked = new LRUCache<string, Promise<void>>({ max: MAX_BUDGETS, ttl: ASK_AGAIN_MS });

  constructor(parts: { database: Database; log: Logger }) {
    this.#database = parts.database;
    this.#log = parts.log;
  }

  /** The database keeps it to one pending approval per budget; a failure here never fails the request. */
  ask(tenantId: string, budgetId: string, details: Record<string, unknown>): Promise<void> {
    const asked = this.#asked.get(budgetId);
    if (asked) return asked;
    const asking = this.#database
      .asTenant(tenantId, (db) => requestApproval(db, tenantId, budgetId, details))
      .then(
        () => {},
        (error: Error) => this.#log.warn({ err: error, budgetId }, 'an approval could not be asked for'),
      );
    this.#asked.set(budgetId, asking);
    return asking;
  }
}
