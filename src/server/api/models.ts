import type { Static } from 'typebox';
import type { modelsOperations } from '../../contract/models.ts';
import type { Price } from '../../contract/prices.ts';
import { RATE_FIELDS } from '../domain/price-json.ts';
import { listPricedModels, type PricedModelRow } from '../store/models.ts';
import type { Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

export function modelsApi(parts: ApiParts): Handlers<typeof modelsOperations> {
  return {
    async listModels({ query, caller }) {
      const at = new Date(parts.nowMs());
      const rows = await parts.database.asTenant(caller.tenantId, (db) =>
        listPricedModels(db, at, query.provider),
      );
      return rows.map(publicModel);
    },
  };
}

function publicModel(row: PricedModelRow) {
  return {
    model_id: row.model_id,
    provider: row.provider,
    model_family: row.model_family,
    pricing_input_per_mtok: Number(row.price[RATE_FIELDS.input]),
    pricing_output_per_mtok: Number(row.price[RATE_FIELDS.output]),
    pricing_cached_per_mtok: rate(row.price[RATE_FIELDS.cached_read]),
    pricing_cache_write_per_mtok: rate(row.price[RATE_FIELDS.cache_write_5m]),
    pricing_cache_write_1h_per_mtok: rate(row.price[RATE_FIELDS.cache_write_1h]),
    context_window: row.context_window,
    status: row.status,
    pricing_updated_at: row.effective_from.toISOString(),
  };
}

function rate(amount: unknown): number | null {
  return amount === undefined ? null : Number(amount);
}

const DECIMAL_TEXT = /^\d+(\.\d+)?$/;

/** A stored price for people and programs: its exact decimal texts as numbers, which six places survive. */
export function showPrice(stored: Record<string, unknown>): Static<typeof Price> {
  return showAmounts(stored) as Static<typeof Price>;
}

function showAmounts(value: unknown): unknown {
  if (typeof value === 'string') return DECIMAL_TEXT.test(value) ? Number(value) : value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, showAmounts(part)]));
}
