import type { Lease } from './lease.ts';

export interface ReservedBudget {
  id: string;
  periodStartMs: number;
}

/** With the id of the lease's holder, so that the money is taken off the right one whoever commits it when. */
export interface HeldBudget extends ReservedBudget {
  holderId: string;
}

export interface Reservation {
  kind: 'reserved';
  amount: number;
  budgets: readonly HeldBudget[];
  /** Once, with what it really cost; the money is off the lease when the record is committed. */
  settle(costMicrodollars: number): void;
  /** For every way out on which nothing was settled. */
  release(): void;
}

/** Of money that has been taken from these leases. */
export function makeReservation(leases: readonly Lease[], amount: number): Reservation {
  let settled = false;
  const budgets = leases.map(({ budgetId, periodStartMs, holderId }) => ({
    id: budgetId,
    periodStartMs,
    holderId,
  }));
  const settle = (costMicrodollars: number) => {
    if (settled) throw new Error('a reservation is settled once');
    settled = true;
    for (const [index, lease] of leases.entries()) {
      // Lost meanwhile: what it reserved is not ours to count any more.
      if (lease.holderId !== budgets[index]!.holderId) continue;
      lease.reserved -= amount;
      lease.unsettled += costMicrodollars;
    }
  };
  const release = () => {
    if (!settled) settle(0);
  };
  return { kind: 'reserved', amount, budgets, settle, release };
}
