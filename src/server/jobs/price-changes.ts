import { formatUsd } from '../../contract/money.ts';
import { CHANGE_WINDOW_DAYS } from '../../contract/price-changes.ts';
import {
  comparePrices,
  describeEstimate,
  describePriceChange,
  type ModelUsage,
  usageBilledUnder,
} from '../domain/price-changes.ts';
import { raiseAlert } from '../store/alerts.ts';
import {
  causeOfAlert,
  findPriceChange,
  listModelUsageByTenant,
  type PriceChangeRow,
  setTenantsNotified,
} from '../store/price-changes.ts';
import { loadPriceBook, readStoredPrice } from '../store/prices.ts';
import type { JobParts, Task } from './task.ts';

const DAY_MS = 86_400_000;
/** Each alert is a few rows; a transaction of so many stays short. */
const TENANTS_PER_TRANSACTION = 200;

/** Tells every tenant who used the model what its new price will do to its own bill. */
export function announcePriceChange(parts: JobParts): Task {
  return async (payload) => {
    const { change_id: changeId } = payload as { change_id: string };
    const nowMs = parts.nowMs();
    const fromDay = new Date(nowMs - (CHANGE_WINDOW_DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
    const found = await parts.database.asSystem(async (db) => {
      const change = await findPriceChange(db, changeId);
      if (!change) return null;
      const rows = await listModelUsageByTenant(db, change, fromDay);
      const book = await loadPriceBook(db);
      const model = { provider: change.provider, model_id: change.model_id };
      const ownRows = new Map<string, ModelUsage[]>();
      for (const row of rows) {
        const own = ownRows.get(row.tenant_id);
        if (own) own.push(row);
        else ownRows.set(row.tenant_id, [row]);
      }
      const concerned = [...ownRows].flatMap(([tenantId, own]) => {
        const used = usageBilledUnder(book, model, own, nowMs);
        return used ? [{ tenantId, used }] : [];
      });
      return { change, concerned };
    });
    if (!found) return;
    const { change, concerned } = found;
    for (let start = 0; start < concerned.length; start += TENANTS_PER_TRANSACTION) {
      await parts.database.asSystem(async (db) => {
        for (const { tenantId, used } of concerned.slice(start, start + TENANTS_PER_TRANSACTION)) {
          await raiseAlert(db, alertOf(change, tenantId, used));
        }
      });
    }
    await parts.database.asSystem((db) => setTenantsNotified(db, change.id, concerned.length));
  };
}

function alertOf(change: PriceChangeRow, tenantId: string, used: ModelUsage) {
  const estimate = describeEstimate(
    readStoredPrice(change.old_price),
    readStoredPrice(change.new_price),
    used,
  );
  const differences = comparePrices(change.old_price, change.new_price);
  const effect = estimate.monthly_effect_microdollars;
  return {
    tenantId,
    type: 'pricing_change' as const,
    severity: effect > 0 ? ('warning' as const) : ('info' as const),
    title: describePriceChange({
      modelId: change.model_id,
      differences,
      effectiveAt: change.effective_at,
      monthlyEffectMicrodollars: effect,
    }),
    cause: causeOfAlert(change.id),
    metadata: {
      price_change_id: change.id,
      provider: change.provider,
      model_id: change.model_id,
      effective_at: change.effective_at.toISOString(),
      differences,
      estimated_monthly_effect_microdollars: effect,
      estimated_monthly_effect_usd: formatUsd(effect),
      estimate,
    },
  };
}
