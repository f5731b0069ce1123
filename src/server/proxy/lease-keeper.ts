import { v7 as uuidv7 } from 'uuid';
import type { Logger } from '../adapters/log.ts';
import { ensureBudgetPeriod } from '../store/budgets.ts';
import type { Database } from '../store/database.ts';
import type { BudgetStanding } from '../store/leases.ts';
import * as store from '../store/leases.ts';
import { type Instant, Lease, type PendingReservation } from './lease.ts';
import { LeaseWatch } from './lease-watch.ts';
import { makeReservation, type Reservation, type ReservedBudget } from './reservation.ts';

const TICK_MS = 250;
/** A lease nobody drew on for this long goes back. */
const IDLE_MS = 500;
const LEASE_MS = 30_000;
/** Of a lease: how often it is renewed, and how long before its end it is not used any more. */
const RENEWALS_PER_LEASE = 6;
const SAFETY_SHARE = 0.1;
/** Of a lease: how long a holder stays silent before others may have what it held. */
const SILENCE_SHARE = 1.2;
/** How long a short node waits for the others to give back what they do not use. */
const RECALL_PATIENCE_MS = 2_000;
const MIN_RECALL_LOOK_MS = 15;
const MAX_RECALL_LOOK_MS = 120;
const RECALL_AGAIN_MS = 200;
/** A database that says nothing for this long is away, as far as whoever waits is concerned. */
const SILENT_DATABASE_MS = 3_000;

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
  /** How long a lease lasts without being renewed. */
  leaseMs?: number;
}

/**
 * Holds this node's leases and decides reservations from them, in memory. Only when a lease runs short is the
 * database asked, once for everybody who waits; a node that is refused there has the others give back what they
 * do not use before it refuses anyone.
 */
export class LeaseKeeper {
  readonly #parts: LeaseKeeperParts;
  readonly #leaseMs: number;
  readonly #watch: LeaseWatch;
  readonly #leases = new Map<string, Lease>();
  readonly #standings = new Map<string, BudgetStanding | null>();
  /** This node's id and those it took on since. */
  readonly #holderIds: string[];
  #lastRenewalMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  #ticking = false;
  #commits = 0;

  constructor(parts: LeaseKeeperParts) {
    this.#parts = parts;
    this.#leaseMs = parts.leaseMs ?? LEASE_MS;
    this.#holderIds = [parts.nodeId];
    const maxGapMs = (2 * this.#leaseMs) / RENEWALS_PER_LEASE;
    this.#watch = new LeaseWatch({ patienceMs: this.#leaseMs * SILENCE_SHARE, maxGapMs });
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), TICK_MS);
  }

  /** Leaves everything as it stands: the leases run out. */
  halt(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  /** Gives everything back that is not in use. */
  async stop(): Promise<void> {
    this.halt();
    try {
      await Promise.all([...this.#leases.values()].map((lease) => this.#giveBack(lease, null)));
      for (const [key, lease] of this.#leases) if (lease.inUse === 0) this.#leases.delete(key);
      await this.#renew();
    } catch (error) {
      this.#complain(error as Error);
    }
  }

  /** All of these budgets or none. Without anything to ask the database it is decided at once. */
  reserve(
    tenantId: string,
    budgets: readonly ReservedBudget[],
    amount: number,
  ): Promise<Reservation | Shortage> {
    return new Promise((resolve) => {
      this.#attempt({
        tenantId,
        budgets,
        amount,
        admit: (leases) => resolve(makeReservation(leases, amount)),
        refuse: ({ budgetId, periodStartMs }) => {
          const standing = this.#standings.get(keyOf(budgetId, periodStartMs)) ?? null;
          resolve({ kind: 'short', budgetId, standing });
        },
      });
    });
  }

  /** The records of these costs are committed: the database has taken them off our leases. */
  committed(spent: readonly store.SpentOfLease[]): void {
    for (const { budget_id, period_start, holder_id, cost_microdollars } of spent) {
      const lease = this.#leases.get(keyOf(budget_id, Date.parse(period_start)));
      if (lease?.holderId !== holder_id) continue;
      lease.unsettled -= Math.min(cost_microdollars, lease.unsettled);
      lease.held = Math.max(0, lease.held - cost_microdollars);
    }
    this.#commits += 1;
  }

  /** A node is short of a budget. */
  recalled(recall: store.Recall): void {
    const lease = this.#leases.get(keyOf(recall.budget_id, recall.period_start_ms));
    if (!lease || lease.holderId === recall.holder_id) return;
    this.#giveBack(lease, recall.recall_number).catch((error: Error) => this.#complain(error));
  }

  /** A tenant's budgets may have changed: what is not in use goes back, to be taken again under the new limit. */
  tenantChanged(tenantId: string): void {
    for (const lease of this.#leases.values()) {
      if (lease.tenantId !== tenantId) continue;
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
      lease = new Lease(tenantId, budget.id, budget.periodStartMs, this.#parts.nodeId);
      this.#leases.set(key, lease);
    }
    return lease;
  }

  /** Takes the amount from every lease, or queues at the first that is short of it. */
  #attempt(pending: PendingReservation): void {
    const now = this.#now();
    // Looked up anew at each attempt: one that held nothing may have been forgotten while this waited at another.
    const leases = pending.budgets.map((budget) => this.#leaseOf(pending.tenantId, budget));
    const short = leases.find((lease) => lease.available(now) < pending.amount);
    if (!short) {
      for (const lease of leases) {
        lease.reserved += pending.amount;
        lease.lastUsedMs = now.steadyMs;
      }
      return pending.admit(leases);
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
    let lookMs = MIN_RECALL_LOOK_MS;
    while (lease.waiting.length > 0) {
      const { standing, admitted } = await this.#ask(lease);
      if (admitted > 0) {
        patienceEndsMs = null;
        lookMs = MIN_RECALL_LOOK_MS;
        continue;
      }
      const nowMs = performance.now();
      const firstLook = patienceEndsMs === null;
      patienceEndsMs ??= nowMs + RECALL_PATIENCE_MS;
      const mayYetComeBack =
        standing !== null && (firstLook ? standing.otherNodes : standing.unansweredNodes) > 0;
      if (!mayYetComeBack || nowMs > patienceEndsMs) {
        this.#refuseWaiting(lease, standing);
        break;
      }
      if (nowMs >= recallAgainMs) {
        recallAgainMs = nowMs + RECALL_AGAIN_MS;
        await this.#recall(lease).catch((error: Error) => this.#complain(error));
      }
      await new Promise((resolve) => setTimeout(resolve, lookMs));
      lookMs = Math.min(2 * lookMs, MAX_RECALL_LOOK_MS);
    }
    // Here, not after an await: whoever comes next must find either us at work or nobody.
    lease.asking = false;
  }

  /**
   * Asks once, and serves whom the answer serves in the same turn: a return that is next in line would take for
   * idle what has been fetched for them. Nobody waits on a database that says nothing.
   */
  async #ask(lease: Lease): Promise<{ standing: BudgetStanding | null; admitted: number }> {
    const silence = setInterval(() => this.#refuseWaiting(lease, null), SILENT_DATABASE_MS);
    try {
      return await lease.inTurn(async () => {
        const standing = await this.#takeMore(lease);
        this.#standings.set(keyOf(lease.budgetId, lease.periodStartMs), standing);
        return { standing, admitted: this.#admitWaiting(lease) };
      });
    } catch (error) {
      lease.uncertain = true;
      this.#complain(error as Error);
      return { standing: null, admitted: 0 };
    } finally {
      clearInterval(silence);
    }
  }

  #refuseWaiting(lease: Lease, standing: BudgetStanding | null): void {
    this.#standings.set(keyOf(lease.budgetId, lease.periodStartMs), standing);
    for (const pending of lease.waiting.splice(0)) pending.refuse(lease);
  }

  /** In the order they came, whoever fits: money that is too little for one may be enough for the next. */
  #admitWaiting(lease: Lease): number {
    const waiting = lease.waiting.splice(0);
    const now = this.#now();
    let admitted = 0;
    for (const pending of waiting) {
      if (lease.available(now) >= pending.amount) {
        admitted += 1;
        this.#attempt(pending);
      } else lease.waiting.push(pending);
    }
    return admitted;
  }

  async #takeMore(lease: Lease): Promise<BudgetStanding | null> {
    const now = this.#now();
    // Run out here but perhaps not there: after an outage our own money must not stand in our way.
    if (lease.held > 0 && !lease.isUsable(now)) await this.#renew();
    // A grant has ended: what is idle of it goes back before the lower limit is asked for more.
    if (lease.held > lease.inUse && !lease.isWithinLimit(now)) await this.#returnIdle(lease, null);
    const standing = await this.#askDatabase(lease, now);
    if (!standing) return null;
    if (standing.ownMicrodollars === null && lease.held > 0) {
      this.#lose(lease);
      return this.#takeMore(lease);
    }
    lease.held += standing.grantedMicrodollars;
    lease.limitHoldsUntilMs = standing.limitHoldsUntilMs ?? Number.POSITIVE_INFINITY;
    if (standing.grantedMicrodollars > 0) lease.usableUntil = this.#usableFrom(now);
    return standing;
  }

  async #askDatabase(lease: Lease, now: Instant): Promise<BudgetStanding | null> {
    const { database } = this.#parts;
    const available = lease.held - lease.inUse;
    const amounts = lease.waiting.map((pending) => pending.amount);
    const question = {
      ...rowOf(lease),
      held: lease.held,
      needAtLeast: Math.max(0, Math.min(...amounts) - available),
      needForAll: Math.max(0, amounts.reduce((sum, amount) => sum + amount, 0) - available),
      leaseMs: this.#leaseMs,
      now: new Date(now.wallMs),
    };
    const ask = () => database.asSystem((db) => store.takeLease(db, question));
    const standing = await ask();
    if (standing) return standing;
    const { tenantId, budgetId: id, periodStart } = question;
    await database.asSystem((db) => ensureBudgetPeriod(db, tenantId, { id }, periodStart));
    return ask();
  }

  /** Under another id from here on: what is still to be committed of the lost lease is not taken off the new. */
  #lose(lease: Lease): void {
    this.#parts.log.warn({ budget: lease.budgetId }, 'a lease was lost to other nodes');
    const holderId = uuidv7();
    this.#holderIds.push(holderId);
    lease.lose(holderId);
  }

  #recall(lease: Lease): Promise<void> {
    return this.#parts.database.asSystem((db) => store.recallLeases(db, rowOf(lease)));
  }

  #giveBack(lease: Lease, recallNumber: number | null): Promise<void> {
    lease.setIdleAside();
    return lease.inTurn(() => this.#returnIdle(lease, recallNumber));
  }

  /** Keeps what is in use. */
  async #returnIdle(lease: Lease, recallNumber: number | null): Promise<void> {
    lease.setIdleAside();
    const nothingInUse = lease.inUse === 0;
    const amount = lease.returning;
    lease.returning = 0;
    if (amount === 0 && recallNumber === null && !lease.uncertain) return;
    const commitsBefore = this.#commits;
    const wasUncertain = lease.uncertain;
    lease.uncertain = true;
    await this.#parts.database.asSystem((db) => {
      if (nothingInUse) return store.deleteLease(db, rowOf(lease));
      if (wasUncertain) return store.setLease(db, rowOf(lease), lease.held);
      return store.returnLease(db, rowOf(lease), amount, recallNumber);
    });
    // Said outright while the ingest took its part off, the row may still be off by that part: once more later.
    lease.uncertain = wasUncertain && !nothingInUse && this.#commits !== commitsBefore;
  }

  /** Returns idle leases, keeps the others alive, forgets those that hold nothing. */
  async #tick(): Promise<void> {
    if (this.#ticking) return;
    this.#ticking = true;
    try {
      if (performance.now() - this.#lastRenewalMs >= this.#leaseMs / RENEWALS_PER_LEASE) {
        await this.#renew();
        await this.#releaseSilent();
      }
      await Promise.all([...this.#leases].map(([key, lease]) => this.#tend(key, lease)));
    } catch (error) {
      this.#complain(error as Error);
    } finally {
      this.#ticking = false;
    }
  }

  async #tend(key: string, lease: Lease): Promise<void> {
    const isRested = () => performance.now() - lease.lastUsedMs >= IDLE_MS && !lease.asking && !lease.busy;
    if (!isRested()) return;
    if (lease.held > lease.inUse || lease.uncertain) await this.#giveBack(lease, null);
    if (!isRested() || lease.held > 0 || lease.inUse > 0 || lease.uncertain) return;
    this.#leases.delete(key);
    this.#standings.delete(key);
  }

  async #renew(): Promise<void> {
    const now = this.#now();
    const before = new Map([...this.#leases].map(([key, lease]) => [key, { lease, wasBusy: lease.busy }]));
    const rows = [...this.#leases.values()].map(rowOf);
    const { database } = this.#parts;
    const own = await database.asSystem((db) => store.keepLeases(db, this.#holderIds, rows, this.#leaseMs));
    this.#lastRenewalMs = now.steadyMs;
    for (const row of own) {
      const found = before.get(keyOf(row.budget_id, row.period_start_ms));
      if (!row.kept || found?.lease.holderId !== row.node_id) continue;
      found.lease.usableUntil = this.#usableFrom(now);
      // More than we count, with nothing under way that could explain it: an answer must have been lost.
      const unexplained = row.amount_microdollars > found.lease.held && !found.wasBusy && !found.lease.busy;
      if (unexplained) found.lease.uncertain = true;
    }
    // One that was taken while we asked is known by now; the others are nobody's.
    const holderOf = (row: store.OwnLease) =>
      this.#leases.get(keyOf(row.budget_id, row.period_start_ms))?.holderId;
    const strays = own.filter((row) => !row.kept && holderOf(row) !== row.node_id);
    if (strays.length > 0) await database.asSystem((db) => store.deleteStrayLeases(db, strays));
  }

  /** What nodes that are gone held is everybody's again. */
  async #releaseSilent(): Promise<void> {
    const nowMs = performance.now();
    const { database, log } = this.#parts;
    const holders = await database.asSystem((db) => store.listOtherHolders(db, this.#holderIds));
    const silent = this.#watch.look(holders, nowMs);
    if (silent.length === 0) return;
    log.warn({ silent }, 'a node is gone; what it had leased is released');
    await database.asSystem((db) => store.deleteLeasesOfSilent(db, silent));
  }

  #now(): Instant {
    return { steadyMs: performance.now(), wallMs: this.#parts.nowMs() };
  }

  /** Counted from when the question was sent, and ended before the database would end it. */
  #usableFrom(asked: Instant): Instant {
    const usableMs = this.#leaseMs * (1 - SAFETY_SHARE);
    return { steadyMs: asked.steadyMs + usableMs, wallMs: asked.wallMs + usableMs };
  }

  #complain(error: Error): void {
    this.#parts.log.warn({ err: error }, 'a budget lease could not be changed');
  }
}

function rowOf({ tenantId, budgetId, periodStartMs, holderId }: Lease): store.LeaseRow {
  return { tenantId, budgetId, periodStart: new Date(periodStartMs), holderId };
}

function keyOf(budgetId: string, periodStartMs: number): string {
  return `${budgetId} ${periodStartMs}`;
}
