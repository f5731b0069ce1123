/** One request's share of the leases it draws on: taken from all of them or from none. */
export interface PendingReservation {
  amount: number;
  leases: readonly Lease[];
  resolve: (taken: boolean, blockedBy: Lease | null) => void;
}

/**
 * What this node holds of one budget in one period. `held` is what the database says we may spend; of it
 * `reserved` is promised to requests in flight and `unsettled` is spent but not yet committed there.
 */
export class Lease {
  readonly tenantId: string;
  readonly budgetId: string;
  readonly periodStartMs: number;
  held = 0;
  reserved = 0;
  unsettled = 0;
  /** Past this instant (performance.now) the database may have given it to someone else. */
  usableUntilMs = Number.NEGATIVE_INFINITY;
  lastUsedMs = 0;
  readonly waiting: PendingReservation[] = [];
  /** What is under way with the database about this lease; one thing at a time. */
  chain: Promise<void> = Promise.resolve();
  asking = false;
  /** A change of the row was sent and its answer lost: the row may hold more than we count. */
  uncertain = false;
  /** Counts the times the database took this lease from us; reservations of an earlier one are not ours to count. */
  term = 0;

  constructor(tenantId: string, budgetId: string, periodStartMs: number) {
    this.tenantId = tenantId;
    this.budgetId = budgetId;
    this.periodStartMs = periodStartMs;
  }

  get inUse(): number {
    return this.reserved + this.unsettled;
  }

  available(nowMs: number): number {
    return nowMs < this.usableUntilMs ? this.held - this.inUse : 0;
  }

  /** The database gave it to others: nothing of it counts any more. */
  lose(): void {
    this.term += 1;
    this.held = 0;
    this.reserved = 0;
    this.unsettled = 0;
    this.uncertain = false;
  }

  /** Runs one thing after the other: a grant and a return that crossed would lose count. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.chain.then(work);
    this.chain = result.then(
      () => {},
      () => {},
    );
    return result;
  }
}
