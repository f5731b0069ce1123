import { setTimeout as sleep } from 'node:timers/promises';
import { parsePrice } from '../domain/price-json.ts';
import { type CataloguedModel, findSavings, PERIOD_DAYS } from '../domain/savings.ts';
import { listPricedModels } from '../store/models.ts';
import {
  deleteOldTraits,
  type HourSpan,
  listTenantsWithTraits,
  listUnsummedHours,
  replaceFindings,
  sumHours,
  sumTraits,
} from '../store/savings.ts';
import type { JobParts, Task } from './task.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** One statement reads about so many requests and no more than a day, so that it neither lasts nor is one of many. */
const REQUESTS_AT_ONCE = 25_000;
const HOURS_AT_ONCE = 24;
/** After each it rests for this share of the time it took: the busier the machine, the more it leaves to others. */
const REST_SHARE = 1 / 3;

/**
 * Looks for savings in the last 30 days of every tenant. The request log is read some hours at a time and each hour
 * once; the rest is sums of sums. Each hour and each tenant is a transaction of its own, so a run that is cut off
 * loses nothing and locks nobody.
 */
export function computeSavings(parts: JobParts): Task {
  return async () => {
    const to = new Date(parts.nowMs());
    const from = new Date(Math.floor((to.getTime() - PERIOD_DAYS * DAY_MS) / HOUR_MS) * HOUR_MS);
    const hours = await parts.database.asSystem((db) => listUnsummedHours(db, { from, to }));
    for (const span of spansOf(hours)) {
      const startedMs = performance.now();
      await parts.database.asSystem((db) => sumHours(db, span, to));
      await sleep((performance.now() - startedMs) * REST_SHARE);
    }
    const catalogue = await readCatalogue(parts, to);
    const tenantIds = await parts.database.asSystem((db) => listTenantsWithTraits(db, from));
    for (const tenantId of tenantIds) {
      await parts.database.asTenant(tenantId, async (db) => {
        const totals = await sumTraits(db, tenantId, from);
        await replaceFindings(db, tenantId, { from, to }, findSavings(totals, catalogue));
      });
    }
    await parts.database.asSystem((db) => deleteOldTraits(db, from));
  };
}

/** Hours that follow on one another, put together as far as they are one statement's work. */
function spansOf(hours: ReadonlyArray<{ hour: Date; requests: number }>): HourSpan[] {
  const spans: Array<{ fromMs: number; toMs: number; requests: number }> = [];
  for (const { hour, requests } of hours) {
    const last = spans.at(-1);
    const fits =
      last?.toMs === hour.getTime() &&
      last.requests + requests <= REQUESTS_AT_ONCE &&
      last.toMs - last.fromMs < HOURS_AT_ONCE * HOUR_MS;
    if (fits) {
      last.toMs += HOUR_MS;
      last.requests += requests;
    } else spans.push({ fromMs: hour.getTime(), toMs: hour.getTime() + HOUR_MS, requests });
  }
  return spans.map(({ fromMs, toMs }) => ({ from: new Date(fromMs), to: new Date(toMs) }));
}

async function readCatalogue(parts: JobParts, at: Date): Promise<CataloguedModel[]> {
  const rows = await parts.database.asSystem((db) => listPricedModels(db, at, undefined));
  return rows.flatMap(({ provider, model_id, model_family, status, price: json }) => {
    const price = parsePrice(json);
    if (!('problem' in price)) return [{ provider, model_id, model_family, status, price }];
    parts.log.error({ model: model_id, problem: price.problem }, 'a stored price cannot be read');
    return [];
  });
}
