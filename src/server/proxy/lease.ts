import type { ReservedBudget } from './reservation.ts';

/** One request's share of the leases it draws on: taken from all of them or from none. */
export interface PendingReservation {
  tenantId: string;
  budgets: readonly ReservedBudget[];
  amount: number;
  admit: (leases: readonly Lease[]) => void;
  refuse: (blockedBy: Lease) => void;
}

/** The same instant by a clock that never steps and by the one on the wall, which goes on while a machine sleeps. */
export interface Instant {
  steadyMs: number;
  wallMs: number;
}

/**
 * What this node holds of one budget in one period. `held` is what the database says we may spend; of it
 * `reserved` is promised to requests in flight and `unsettled` is spent but not yet committed there.
 */
export class Lease {
  readonly tenantId: string;
  readonly budgetId: string;
  readonly periodStartMs: number;
  /** Under which the row stands. Another after a loss, so that what was spent of the lost one is not taken off. */
  holderId: string;
  held = 0;
  reserved = 0;
  unsettled = 0;
  /** Taken off `held` and on its way back. */
  returning = 0;
  /** Past this the database may have given it to someone else. */
  usableUntil: Instant = { steadyMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
  /** Past this (on the wall) the limit it was taken under is a lower one. */
  limitHoldsUntilMs = Number.POSITIVE_INFINITY;
  lastUsedMs = 0;
  readonly waiting: PendingReservation[] = [];
  asking = false;
  /** A change of the row was sent and its answer lost: the row may hold more than we count. */
  uncertain = false;
  #chain: Promise<unknown> = Promise.resolve();
  #turns = 0;

  constructor(tenantId: string, budgetId: string, periodStartMs: number, holderId: string) {
    this.tenantId = tenantId;
    this.budgetId = budgetId;
    this.periodStartMs = periodStartMs;
    this.holderId = holderId;
  }

  get inUse(): number {
    return this.reserved + this.unsettled;
  }

  /** Something is under way with the database about this lease. */
  get busy(): boolean {
    return this.#turns > 0;
  }

  isUsable(now: Instant): boolean {
    return now.steadyMs < this.usableUntil.steadyMs && now.wallMs < this.usableUntil.wallMs;
  }

  isWithinLimit(now: Instant): boolean {
    return now.wallMs < this.limitHoldsUntilMs;
  }

  available(now: Instant): number {
    return this.isUsable(now) && this.isWithinLimit(now) ? this.held - this.inUse : 0;
  }

  /** From here on nothing can draw on what is idle. */
  setIdleAside(): void {
    const idle = Math.max(0, this.held - this.inUse);
    this.held -= idle;
    this.returning += idle;
  }

  /** The database gave it to others: nothing of it counts any more. */
  lose(nextHolderId: string): void {
    this.holderId = nextHolderId;
    this.held = 0;
    this.reserved = 0;
    this.unsettled = 0;
    this.returning = 0;
    this.uncertain = false;
  }

  /** Runs one thing after the other: a grant and a return that crossed would lose count. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#turns += 1;
    const result = this.#chain.then(work).finally(() => {
      this.#turns -= 1;
    });
    this.#chain = result.catch(() => {});
    return result;
  }
}
