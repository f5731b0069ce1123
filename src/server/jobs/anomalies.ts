import {
  anomalyAlert,
  FLOOR_MICRODOLLARS,
  findAnomaly,
  HISTORY_DAYS,
  type HourlySpend,
} from '../domain/anomalies.ts';
import { raiseAlert } from '../store/alerts.ts';
import {
  type FirstDay,
  listFirstDays,
  listSpendOfHours,
  listTenantsWithSpend,
  type SpendRow,
} from '../store/anomalies.ts';
import type { Db } from '../store/database.ts';
import { listTeamNames } from '../store/usage.ts';
import type { JobParts, Task } from './task.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Looks at the hour under way, which may be alarming before it is over, and at the last full one, whose end no
 * look may have seen. The rollups answer it all.
 */
export function detectAnomalies(parts: Pick<JobParts, 'database' | 'nowMs' | 'log'>): Task {
  return async () => {
    const currentHourMs = Math.floor(parts.nowMs() / HOUR_MS) * HOUR_MS;
    const hours = [currentHourMs - HOUR_MS, currentHourMs];
    const tenantIds = await parts.database.asSystem((db) =>
      listTenantsWithSpend(db, new Date(hours[0]!), FLOOR_MICRODOLLARS),
    );
    let firstFault: unknown;
    for (const tenantId of tenantIds) {
      try {
        for (const hourMs of hours) {
          await parts.database.asTenant(tenantId, (db) => judgeHour(db, tenantId, hourMs));
        }
      } catch (error) {
        // One tenant's trouble is no reason to look at none of the others.
        parts.log.warn({ err: error, tenantId }, 'a tenant’s spend could not be looked at');
        firstFault ??= error;
      }
    }
    if (firstFault !== undefined) throw firstFault;
  };
}

async function judgeHour(db: Db, tenantId: string, hourMs: number): Promise<void> {
  const days = Array.from({ length: HISTORY_DAYS }, (_, index) => hourMs - (index + 1) * DAY_MS);
  const spent = await listSpendOfHours(
    db,
    tenantId,
    [hourMs, ...days].map((ms) => new Date(ms)),
  );
  const known = await listFirstDays(db, tenantId, dayOf(days.at(-1)!));
  const found = findAnomaly(spendsOf(spent, known, hourMs));
  if (!found) return;
  const teamIds = [found.anomaly, ...found.drivers]
    .filter(({ dimension, value }) => dimension === 'team' && value !== '')
    .map(({ value }) => value);
  const names = await listTeamNames(db, tenantId, teamIds);
  await raiseAlert(db, { tenantId, ...anomalyAlert(found, hourMs, names) });
}

/** Series of everything that spent in the hour and has a name; what has none is in the total. */
function spendsOf(spent: readonly SpendRow[], known: readonly FirstDay[], hourMs: number): HourlySpend[] {
  const keyOf = (row: { dimension: string; value: string }) => `${row.dimension} ${row.value}`;
  const firstDays = new Map(known.map((row) => [keyOf(row), row.first_day]));
  const bySeries = new Map<string, Map<number, number>>();
  for (const row of spent) {
    const series = bySeries.get(keyOf(row)) ?? new Map<number, number>();
    bySeries.set(keyOf(row), series.set(row.hour.getTime(), row.cost_microdollars));
  }
  return spent
    .filter((row) => row.hour.getTime() === hourMs && (row.value !== '' || row.dimension === 'tenant_total'))
    .map((row) => {
      const firstDay = firstDays.get(keyOf(row)) ?? dayOf(hourMs);
      const series = bySeries.get(keyOf(row))!;
      const history: number[] = [];
      for (let at = hourMs - DAY_MS; history.length < HISTORY_DAYS && dayOf(at) >= firstDay; at -= DAY_MS) {
        history.push(series.get(at) ?? 0);
      }
      return {
        dimension: row.dimension,
        value: row.value,
        spendMicrodollars: row.cost_microdollars,
        historyMicrodollars: history,
      };
    });
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
