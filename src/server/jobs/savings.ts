import { parsePrice } from '../domain/price-json.ts';
import { type CataloguedModel, findSavings, PERIOD_DAYS } from '../domain/savings.ts';
import { listPricedModels } from '../store/models.ts';
import {
  deleteOldTraits,
  listTenantsWithTraits,
  listUnsummedHours,
  replaceFindings,
  sumHour,
  sumTraits,
} from '../store/savings.ts';
import type { JobParts, Task } from './task.ts';

const DAY_MS = 86_400_000;

/**
 * Looks for savings in the last 30 days of every tenant. The request log is read an hour at a time and each hour
 * once; the rest is sums of sums. Each hour and each tenant is a transaction of its own, so a run that is cut off
 * loses nothing and locks nobody.
 */
export function computeSavings(parts: JobParts): Task {
  return async () => {
    const to = new Date(parts.nowMs());
    const period = { from: new Date(to.getTime() - PERIOD_DAYS * DAY_MS), to };
    const hours = await parts.database.asSystem((db) => listUnsummedHours(db, period));
    for (const hour of hours) await parts.database.asSystem((db) => sumHour(db, hour, to));
    const catalogue = await readCatalogue(parts, to);
    const tenantIds = await parts.database.asSystem((db) => listTenantsWithTraits(db, period));
    for (const tenantId of tenantIds) {
      await parts.database.asTenant(tenantId, async (db) => {
        const totals = await sumTraits(db, tenantId, period.from);
        await replaceFindings(db, tenantId, period, findSavings(totals, catalogue));
      });
    }
    await parts.database.asSystem((db) => deleteOldTraits(db, period.from));
  };
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
