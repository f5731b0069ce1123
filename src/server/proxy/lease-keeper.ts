import type { Logger } from '../adapters/log.ts';
import { ensureBudgetPeriod } from '../store/budgets.ts';
import type { Database } from '../store/database.ts';
import * as store from '../store/leases.ts';
import { type BudgetStanding, LEASE_SECONDS } from '../store/leases.ts';
import { Lease, type PendingReservation } from './lease.ts';

const TICK_MS = 250;
/** A lease nobody drew on for this long goes back. */
const IDLE_MS = 500;
const RENEW_EVERY_MS = 5_000;
/** Stop using a lease before the database stops keeping it for us. */
const SAFETY_MS = 3_000;
/** How long a short node waits for the others to give back what they do not use. */
const RECALL_PATIENCE_MS = 1_000;
const RECALL_LOOK_MS = 15;
const RECALL_AGAIN_MS = 200;
/**
 * A node may take over leases that ran out only after it has itself been in touch with the database for this
 * long: after an outage everybody first gets the chance to renew.
 */
const CONTACT_BEFORE_RECLAIM_MS = 10_000;

export interface ReservedBudget {
  id: string;
  periodStartMs: number;
}

export interface Reservation {
  kind: 'reserved';
  amount: number;
  budgets: readonly ReservedBudget[];
  /** Once, with what it really cost; the money is off the lease when the record is committed. */
  settle(costMicrodollars: number): void;
  /** For every way out on which nothing was settled. */
  release(): void;
}

export interface Shortage {
  kind: 'short';
  budgetId: string;
  /** Null when the database could not be asked. */
  standing: BudgetStanding | null;
}

export interface LeaseKeeperParts {
  database: Database;
  nodeId: string;
  nowMs: () => number;
  log: Logger;
}

/**
 * Holds this node's leases and decides reservations from them, in memory. Only when a lease runs short is the
 * database asked, once for everybody who waits; a node that is refused there has the others give back what they
 * do not use before it refuses anyone.
 */
export class LeaseKeeper {
  readonly #parts: LeaseKeeperParts;
  readonly #leases = new Map<string, Lease>();
  readonly #standings = new Map<string, BudgetStanding | null>();
  #contactSinceMs = Number.POSITIVE_INFINITY;
  #lastRenewalMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  #ticking = false;
  #commits = 0;

  constructor(parts: LeaseKeeperParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), TICK_MS);
  }

  /** Gives everything back that is not in use. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await Promise.all([...this.#leases.values()].map((lease) => this.#giveBack(lease, null).catch(() => {})));
  }

  /** All of these budgets or none. Without anything to ask the database it is decided at once. */
  reserve(
    tenantId: string,
    budgets: readonly ReservedBudget[],
    amount: number,
  ): Promise<Reservation | Shortage> {
    const leases = budgets.map((budget) => this.#leaseOf(tenantId, budget));
    return new Promise((resolve) => {
      this.#attempt({
        amount,
        leases,
        resolve: (taken, blockedBy) => {
          if (taken) resolve(this.#reservation(leases, budgets, amount));
          else {
            const standing =
              this.#standings.get(keyOf(blockedBy!.budgetId, blockedBy!.periodStartMs)) ?? null;
            resolve({ kind: 'short', budgetId: blockedBy!.budgetId, standing });
          }
        },
      });
    });
  }

  /** The records of these costs are committed: the database has taken them off our leases. */
  committed(spent: readonly store.SpentOfLease[]): void {
    for (const { budget_id, period_start, cost_microdollars } of spent) {
      const lease = this.#leases.get(keyOf(budget_id, Date.parse(period_start)));
      if (!lease) continue;
      lease.unsettled -= Math.min(cost_microdollars, lease.unsettled);
      lease.held = Math.max(0, lease.held - cost_microdollars);
    }
    this.#commits += 1;
  }

  /** Another node is short of this budget. */
  recalled(budgetId: string, periodStartMs: number, recallNumber: number): void {
    const lease = this.#leases.get(keyOf(budgetId, periodStartMs));
    if (lease) this.#giveBack(lease, recallNumber).catch((error: Error) => this.#complain(error));
  }

  /** A tenant's budgets may have changed: what is not in use goes back, to be taken again under the new limit. */
  tenantChanged(tenantId: string): void {
    for (const lease of this.#leases.values()) {
      if (lease.tenantId === tenantId)
        this.#giveBack(lease, null).catch((error: Error) => this.#complain(error));
    }
  }

  get heldMicrodollars(): number {
    let held = 0;
    for (const lease of this.#leases.values()) held += lease.held;
    return held;
  }

  #leaseOf(tenantId: string, budget: ReservedBudget): Lease {
    const key = keyOf(budget.id, budget.periodStartMs);
    let lease = this.#leases.get(key);
    if (!lease) {
      lease = new Lease(tenantId, budget.id, budget.periodStartMs);
      this.#leases.set(key, lease);
    }
    return lease;
  }

  #reservation(leases: readonly Lease[], budgets: readonly ReservedBudget[], amount: number): Reservation {
    let settled = false;
    const terms = leases.map((lease) => lease.term);
    const settle = (costMicrodollars: number) => {
      if (settled) throw new Error('a reservation is settled once');
      settled = true;
      for (const [index, lease] of leases.entries()) {
        if (lease.term !== terms[index]) continue;
        lease.reserved -= amount;
        lease.unsettled += costMicrodollars;
      }
    };
    const release = () => {
      if (!settled) settle(0);
    };
    return { kind: 'reserved', amount, budgets, settle, release };
  }

  /** Takes the amount from every lease, or queues at the first that is short of it. */
  #attempt(pending: PendingReservation): void {
    const nowMs = performance.now();
    const short = pending.leases.find((lease) => lease.available(nowMs) < pending.amount);
    if (!short) {
      for (const lease of pending.leases) {
        lease.reserved += pending.amount;
        lease.lastUsedMs = nowMs;
      }
      return pending.resolve(true, null);
    }
    short.waiting.push(pending);
    if (short.asking) return;
    short.asking = true;
    void this.#serveWaiting(short);
  }

  /** Asks the database until everybody who waits at this lease is served or refused. */
  async #serveWaiting(lease: Lease): Promise<void> {
    let patienceEndsMs: number | null = null;
    let recallAgainMs = 0;
    while (lease.waiting.length > 0) {
      const standing = await lease
        .inTurn(() => this.#askForMore(lease))
        .catch((error: Error) => {
          lease.uncertain = true;
          return this.#complain(error);
        });
      this.#standings.set(keyOf(lease.budgetId, lease.periodStartMs), standing);
      if (this.#admitWaiting(lease) > 0) {
        patienceEndsMs = null;
        continue;
      }
      const nowMs = performance.now();
      const firstLook = patienceEndsMs === null;
      patienceEndsMs ??= nowMs + RECALL_PATIENCE_MS;
      const mayYetComeBack =
        standing !== null && (firstLook ? standing.otherNodes : standing.unansweredNodes) > 0;
      if (!mayYetComeBack || nowMs > patienceEndsMs) {
        for (const pending of lease.waiting.splice(0)) pending.resolve(false, lease);
        break;
      }
      if (nowMs >= recallAgainMs) {
        recallAgainMs = nowMs + RECALL_AGAIN_MS;
        await this.#recall(lease).catch((error: Error) => this.#complain(error));
      }
      await new Promise((resolve) => setTimeout(resolve, RECALL_LOOK_MS));
    }
    // Here, not after an await: whoever comes next must find either us at work or nobody.
    lease.asking = false;
  }

  /** In the order they came, whoever fits: money that is too little for one may be enough for the next. */
  #admitWaiting(lease: Lease): number {
    const waiting = lease.waiting.splice(0);
    const nowMs = performance.now();
    let admitted = 0;
    for (const pending of waiting) {
      if (lease.available(nowMs) >= pending.amount) {
        admitted += 1;
        this.#attempt(pending);
      } else lease.waiting.push(pending);
    }
    return admitted;
  }

  async #askForMore(lease: Lease): Promise<BudgetStanding | null> {
    const { database, nodeId } = this.#parts;
    const startedMs = performance.now();
    // Run out here but perhaps not there: after an outage our own money must not stand in our way.
    if (lease.held > 0 && startedMs >= lease.usableUntilMs) await this.#renew();
    const available = lease.available(startedMs);
    const amounts = lease.waiting.map((pending) => pending.amount);
    const question = {
      ...this.#periodOf(lease),
      nodeId,
      needAtLeast: Math.max(0, Math.min(...amounts) - available),
      needForAll: Math.max(0, amounts.reduce((sum, amount) => sum + amount, 0) - available),
      mayReclaim: startedMs - this.#contactSinceMs > CONTACT_BEFORE_RECLAIM_MS,
      now: new Date(this.#parts.nowMs()),
    };
    const ask = () => database.asSystem((db) => store.takeLease(db, question));
    let standing = await ask();
    if (!standing) {
      const { tenantId, budgetId: id, periodStart } = question;
      await database.asSystem((db) => ensureBudgetPeriod(db, tenantId, { id }, periodStart));
      standing = await ask();
    }
    if (!standing) return null;
    if (standing.ownMicrodollars === null && lease.held > 0) lease.lose();
    if (standing.grantedMicrodollars > 0) {
      lease.held += standing.grantedMicrodollars;
      lease.usableUntilMs = startedMs + LEASE_SECONDS * 1000 - SAFETY_MS;
    }
    return standing;
  }

  #recall(lease: Lease): Promise<void> {
    return this.#parts.database.asSystem((db) => store.recallLeases(db, this.#periodOf(lease)));
  }

  /** Keeps what is in use. Taken off here first, so that nothing can draw on it while it is on its way. */
  #giveBack(lease: Lease, recallNumber: number | null): Promise<void> {
    return lease.inTurn(async () => {
      const period = { ...this.#periodOf(lease), nodeId: this.#parts.nodeId };
      const nothingInUse = lease.inUse === 0;
      const idle = Math.max(0, lease.held - lease.inUse);
      if (idle === 0 && recallNumber === null && !lease.uncertain) return;
      lease.held -= idle;
      const commitsBefore = this.#commits;
      const wasUncertain = lease.uncertain;
      lease.uncertain = true;
      await this.#parts.database.asSystem((db) => {
        if (nothingInUse) return store.deleteLease(db, period);
        if (wasUncertain) return store.setLease(db, period, lease.held);
        return store.returnLease(db, period, idle, recallNumber);
      });
      // Said outright while the ingest took its part off, the row may still be off by that part: once more later.
      lease.uncertain = wasUncertain && this.#commits !== commitsBefore;
    });
  }

  #periodOf(lease: Lease): store.BudgetPeriod {
    return { tenantId: lease.tenantId, budgetId: lease.budgetId, periodStart: new Date(lease.periodStartMs) };
  }

  /** Returns idle leases, keeps the others alive, forgets those of periods long past. */
  async #tick(): Promise<void> {
    if (this.#ticking) return;
    this.#ticking = true;
    try {
      const nowMs = performance.now();
      for (const [key, lease] of this.#leases) {
        if (nowMs - lease.lastUsedMs < IDLE_MS || lease.asking) continue;
        if (lease.held - lease.inUse > 0 || lease.uncertain) await this.#giveBack(lease, null);
        if (lease.held === 0 && lease.inUse === 0 && lease.waiting.length === 0) {
          this.#leases.delete(key);
          this.#standings.delete(key);
        }
      }
      if (nowMs - this.#lastRenewalMs >= RENEW_EVERY_MS) await this.#renew();
    } catch (error) {
      this.#complain(error as Error);
    } finally {
      this.#ticking = false;
    }
  }

  async #renew(): Promise<void> {
    const startedMs = performance.now();
    const gapMs = startedMs - this.#lastRenewalMs;
    const kept = await this.#parts.database.asSystem((db) => store.renewLeases(db, this.#parts.nodeId));
    if (gapMs > CONTACT_BEFORE_RECLAIM_MS) this.#contactSinceMs = startedMs;
    this.#lastRenewalMs = startedMs;
    const keys = new Set(kept.map((row) => keyOf(row.budget_id, row.period_start_ms)));
    for (const [key, lease] of this.#leases) {
      if (keys.has(key)) lease.usableUntilMs = startedMs + LEASE_SECONDS * 1000 - SAFETY_MS;
    }
  }

  #complain(error: Error): null {
    this.#parts.log.warn({ err: error }, 'a budget lease could not be changed');
    return null;
  }
}

function keyOf(budgetId: string, periodStartMs: number): string {
  return `${budgetId} ${periodStartMs}`;
}
