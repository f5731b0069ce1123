import { MAX_INDEX_DAYS } from '../../contract/public.ts';
import { formGroups, type IndexGroup, makeBucket, mergeGroups, type Share } from '../domain/cost-index.ts';
import {
  closeDay,
  deleteOldIndexDays,
  dropLeavers,
  type IndexModel,
  listDueHours,
  listGroups,
  listOpenDays,
  listUnpublished,
  listWaitingShares,
  lockCostIndex,
  markGrouped,
  publishBucket,
  type ShareRow,
  saveGroups,
  sumIndexHour,
} from '../store/cost-index.ts';
import type { Db } from '../store/database.ts';
import type { JobParts, Task } from './task.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The last records of a day need a little to arrive. */
const CLOSES_AFTER_MS = 30 * 60_000;

/** Brings today's buckets up to date, and closes the days that are over. */
export function buildCostIndex(parts: Pick<JobParts, 'database' | 'nowMs'>): Task {
  return async () => {
    const nowMs = parts.nowMs();
    const today = dayOf(nowMs);
    await locked(parts, (db) => dropLeavers(db, new Date(nowMs)));
    if (nowMs % DAY_MS >= CLOSES_AFTER_MS) {
      for (const day of await parts.database.asSystem((db) => listOpenDays(db, today))) {
        await sumDay(parts, day, new Date(`${day}T00:00:00Z`));
        await locked(parts, async (db) => {
          await groupWaiting(db, day);
          await closeDay(db, day);
        });
      }
    }
    // The hour before may still have been running at the last build.
    await sumDay(parts, today, new Date(Math.floor(nowMs / HOUR_MS) * HOUR_MS - HOUR_MS));
    await locked(parts, (db) => groupWaiting(db, today));
    await locked(parts, publishRemains);
    await parts.database.asSystem((db) => deleteOldIndexDays(db, dayOf(nowMs - MAX_INDEX_DAYS * DAY_MS)));
  };
}

async function sumDay(parts: Pick<JobParts, 'database'>, day: string, recentFrom: Date): Promise<void> {
  const hours = await parts.database.asSystem((db) => listDueHours(db, day, recentFrom));
  for (const hour of hours) await locked(parts, (db) => sumIndexHour(db, day, hour, recentFrom));
}

/** Puts into groups what has company enough, and publishes the buckets that grow by them. */
async function groupWaiting(db: Db, day: string): Promise<void> {
  for (const { model, shares } of sharesByModel(await listWaitingShares(db, day))) {
    const formed = formGroups(shares, day);
    if (formed.length === 0) continue;
    const groups = mergeGroups([...(await listGroups(db, day, model)), ...formed]);
    await saveGroups(db, day, model, groups);
    await markGrouped(
      db,
      day,
      model,
      formed.flatMap((group) => group.members),
    );
    await publish(db, day, model, groups);
  }
}

async function publishRemains(db: Db): Promise<void> {
  for (const { day, ...model } of await listUnpublished(db)) {
    await publish(db, day, model, await listGroups(db, day, model));
  }
}

async function publish(db: Db, day: string, model: IndexModel, groups: readonly IndexGroup[]): Promise<void> {
  const figures = makeBucket(groups);
  if (figures) await publishBucket(db, day, { ...model, ...figures });
}

function locked<T>(parts: Pick<JobParts, 'database'>, work: (db: Db) => Promise<T>): Promise<T> {
  return parts.database.asSystem(async (db) => {
    await lockCostIndex(db);
    return work(db);
  });
}

function sharesByModel(rows: readonly ShareRow[]): Array<{ model: IndexModel; shares: Share[] }> {
  const models = new Map<string, { model: IndexModel; bins: Map<string, Share['bins'][number][]> }>();
  for (const { provider, model_id, tenant_id, ...bin } of rows) {
    const key = `${provider} ${model_id}`;
    const entry = models.get(key) ?? { model: { provider, model_id }, bins: new Map() };
    models.set(key, entry);
    entry.bins.set(tenant_id, [...(entry.bins.get(tenant_id) ?? []), bin]);
  }
  return [...models.values()].map(({ model, bins }) => ({
    model,
    shares: [...bins].map(([tenant_id, own]) => ({ tenant_id, bins: own })),
  }));
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
