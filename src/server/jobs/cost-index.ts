import { MAX_INDEX_DAYS } from '../../contract/public.ts';
import { type IndexFigures, makeBucket, type Share } from '../domain/cost-index.ts';
import {
  closeDay,
  deleteOldIndexDays,
  dropLeavers,
  type IndexModel,
  insertBuckets,
  listClosedShares,
  listDueHours,
  listOpenDays,
  listRepublishable,
  listRunningShares,
  lockCostIndex,
  replaceBuckets,
  type ShareRow,
  sumIndexHour,
} from '../store/cost-index.ts';
import type { Db } from '../store/database.ts';
import type { JobParts, Task } from './task.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The last records of a day need a little to arrive. */
const CLOSES_AFTER_MS = 30 * 60_000;

/** Brings today's buckets up to date, and closes the days that are over. */
export function buildCostIndex(parts: JobParts): Task {
  return async () => {
    const nowMs = parts.nowMs();
    const today = dayOf(nowMs);
    await locked(parts, dropLeavers);
    if (nowMs % DAY_MS >= CLOSES_AFTER_MS) {
      for (const day of await parts.database.asSystem((db) => listOpenDays(db, today))) {
        await sumDay(parts, day, new Date(`${day}T00:00:00Z`));
        await locked(parts, async (db) => {
          await replaceBuckets(db, day, bucketsOf(await listRunningShares(db, day)));
          await closeDay(db, day);
        });
      }
    }
    // The hour before may still have been running at the last build.
    await sumDay(parts, today, new Date(Math.floor(nowMs / HOUR_MS) * HOUR_MS - HOUR_MS));
    await locked(parts, async (db) =>
      replaceBuckets(db, today, bucketsOf(await listRunningShares(db, today))),
    );
    await locked(parts, republish);
    await parts.database.asSystem((db) => deleteOldIndexDays(db, dayOf(nowMs - MAX_INDEX_DAYS * DAY_MS)));
  };
}

async function sumDay(parts: JobParts, day: string, recentFrom: Date): Promise<void> {
  const hours = await parts.database.asSystem((db) => listDueHours(db, day, recentFrom));
  for (const hour of hours) await locked(parts, (db) => sumIndexHour(db, day, hour, recentFrom));
}

async function republish(db: Db): Promise<void> {
  for (const { day, ...model } of await listRepublishable(db)) {
    await insertBuckets(db, day, bucketsOf(await listClosedShares(db, day, model)));
  }
}

function locked<T>(parts: JobParts, work: (db: Db) => Promise<T>): Promise<T> {
  return parts.database.asSystem(async (db) => {
    await lockCostIndex(db);
    return work(db);
  });
}

/** Rows come ordered by model and tenant. */
function bucketsOf(rows: readonly ShareRow[]): Array<IndexModel & IndexFigures> {
  const models = new Map<string, { model: IndexModel; shares: Map<string, Share['bins'][number][]> }>();
  for (const row of rows) {
    const key = `${row.provider} ${row.model_id}`;
    const entry = models.get(key) ?? {
      model: { provider: row.provider, model_id: row.model_id },
      shares: new Map(),
    };
    models.set(key, entry);
    const bins = entry.shares.get(row.tenant_id) ?? [];
    entry.shares.set(row.tenant_id, bins);
    bins.push({ bin: row.bin, requests: row.requests, cost_microdollars: row.cost_microdollars });
  }
  return [...models.values()].flatMap(({ model, shares }) => {
    const figures = makeBucket([...shares].map(([tenant_id, bins]) => ({ tenant_id, bins })));
    return figures ? [{ ...model, ...figures }] : [];
  });
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
