import type { RequestRecord } from '../domain/request-record.ts';
import type { SpentOfLease } from '../store/leases.ts';

/** What comes off which leases: the real cost of every request that had reserved from one. */
export function spentOfLeases(records: readonly RequestRecord[]): SpentOfLease[] {
  const spent = new Map<string, SpentOfLease>();
  for (const record of records) {
    for (const reservation of record.reservations) {
      const key = `${reservation.budget_id} ${reservation.period_start} ${reservation.holder_id}`;
      const sum = spent.get(key) ?? { tenant_id: record.tenant_id, ...reservation, cost_microdollars: 0 };
      sum.cost_microdollars += record.cost_microdollars;
      spent.set(key, sum);
    }
  }
  return [...spent.values()];
}
