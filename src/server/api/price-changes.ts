import { validate as isUuid } from 'uuid';
import { refuse } from '../../contract/errors.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import { CHANGE_WINDOW_DAYS, type priceChangesOperations } from '../../contract/price-changes.ts';
import type { PriceBook } from '../domain/price-book.ts';
import {
  comparePrices,
  describeEstimate,
  type ModelUsage,
  usageBilledUnder,
} from '../domain/price-changes.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import * as store from '../store/price-changes.ts';
import { loadPriceBook, readStoredPrice } from '../store/prices.ts';
import type { Call, Handlers } from './handler.ts';
import { showPrice } from './models.ts';
import { pageOf } from './page.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof priceChangesOperations;
type PriceChange = ResponseOf<Operations['acknowledgePriceChange']>;

const DAY_MS = 86_400_000;

export function priceChangesApi(parts: ApiParts): Handlers<Operations> {
  return {
    listPriceChanges: ({ caller: { tenantId } }) =>
      parts.database.asTenant(tenantId, async (db) => {
        const since = new Date(parts.nowMs() - CHANGE_WINDOW_DAYS * DAY_MS);
        const changes = await store.listOpenPriceChanges(db, tenantId, since);
        if (changes.length === 0) return [];
        const estimate = await readEstimates(db, tenantId, parts.nowMs());
        return changes.flatMap((change) => {
          const used = estimate.usedOf(change);
          return used ? [show(change, used)] : [];
        });
      }),
    listDecidedPriceChanges: ({ caller: { tenantId }, query }) =>
      parts.database.asTenant(tenantId, async (db) => {
        const page = pageOf(query);
        const { rows, total } = await store.listDecidedPriceChanges(db, tenantId, page);
        const estimate = await readEstimates(db, tenantId, parts.nowMs());
        const data = rows.map((change) => show(change, estimate.usedOf(change) ?? unused(change)));
        return { data, total, ...page };
      }),
    acknowledgePriceChange: (call) => decide(parts, call, 'acknowledged'),
    dismissPriceChange: (call) => decide(parts, call, 'dismissed'),
  };
}

/** A change of a model that the tenant never used is none of its business, and answers as if it were not there. */
function decide(
  parts: ApiParts,
  { caller, params, ip }: Pick<Call<Operations['acknowledgePriceChange']>, 'caller' | 'params' | 'ip'>,
  decision: store.Decision,
) {
  const { tenantId } = caller;
  return parts.database.asTenant(tenantId, async (db) => {
    const change = isUuid(params.id) ? await store.findPriceChangeOf(db, tenantId, params.id!) : null;
    if (!change) return refuse('not_found');
    const used = (await readEstimates(db, tenantId, parts.nowMs())).usedOf(change);
    if (!used && !change.decision) return refuse('not_found');
    const decidedAt = new Date(parts.nowMs());
    await store.decidePriceChange(db, tenantId, {
      changeId: change.id,
      decision,
      decidedAt,
      decidedBy: caller.email,
    });
    await recordAudit(db, {
      tenantId,
      actorType: 'user',
      actorId: caller.email,
      action: `price_change.${decision}`,
      resourceType: 'price_change',
      resourceId: change.id,
      ip,
      details: { model_id: change.model_id, effective_at: change.effective_at.toISOString() },
    });
    const decided = { ...change, decision, decided_at: decidedAt, decided_by: caller.email };
    return show(decided, used ?? unused(change));
  });
}

/** What the tenant used in the window, ready to be asked about any change. */
async function readEstimates(db: Db, tenantId: string, nowMs: number) {
  const fromDay = new Date(nowMs - (CHANGE_WINDOW_DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const used = await store.listModelUsage(db, tenantId, fromDay);
  const book: PriceBook = await loadPriceBook(db);
  return {
    usedOf: (change: store.PriceChangeRow): ModelUsage | null =>
      usageBilledUnder(book, { provider: change.provider, model_id: change.model_id }, used, nowMs),
  };
}

function unused({ provider, model_id }: store.PriceChangeRow): ModelUsage {
  return { provider, model_id, tokens_input: 0, tokens_cached: 0, tokens_output: 0, cost_microdollars: 0 };
}

function show(change: store.DecidedChangeRow, used: ModelUsage): PriceChange {
  return {
    ...showChange(change),
    status: change.decision ?? 'active',
    decided_at: change.decided_at?.toISOString() ?? null,
    decided_by: change.decided_by,
    estimate: describeEstimate(readStoredPrice(change.old_price), readStoredPrice(change.new_price), used),
  };
}

/** What a change says to everyone. */
export function showChange(change: store.PriceChangeRow) {
  return {
    id: change.id,
    provider: change.provider,
    model_id: change.model_id,
    model_family: change.model_family,
    old_price: showPrice(change.old_price),
    new_price: showPrice(change.new_price),
    differences: comparePrices(showPrice(change.old_price), showPrice(change.new_price)),
    effective_at: change.effective_at.toISOString(),
    source: change.source,
    note: change.note,
    created_at: change.created_at.toISOString(),
  };
}
