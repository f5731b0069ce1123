import { v7 as uuidv7 } from 'uuid';
import { chainRecords, emptyChain, type LedgerDraft, signHead } from '../../ledger/chain.ts';
import { findPrice, type PriceBook } from '../domain/price-book.ts';
import { costOf } from '../domain/pricing.ts';
import { recordAudit } from '../store/audit.ts';
import { commitCharges, findCharges, type Spending } from '../store/budget-charges.ts';
import {
  listUnpricedRequests,
  lockUnpricedRequests,
  type PricedRequest,
  priceRequests,
  type RequestId,
  type UnpricedRequest,
} from '../store/corrections.ts';
import type { Db } from '../store/database.ts';
import { insertLedgerRecords, lockLedgerHeads, type SignedHead } from '../store/ingest.ts';
import { loadPriceBook } from '../store/prices.ts';
import type { JobParts, Task } from './task.ts';

const BATCH_REQUESTS = 500;

type Correction = PricedRequest & Spending & { draft: LedgerDraft };

/**
 * Charges requests that were made before their model had a price, as far back as the month before this one. The
 * ledger keeps what it said and gets a correcting record; the log, the rollups and the budgets get the cost where
 * the request stands, and a budget that its thresholds pass says so. Each batch is one transaction, and a request is corrected once however often this runs.
 */
export function correctUnpriced(parts: JobParts): Task {
  return async () => {
    const now = new Date(parts.nowMs());
    const since = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1));
    let afterId: string | null = null;
    for (;;) {
      const range = { since, afterId };
      const found: RequestId[] = await parts.database.asSystem((db) =>
        listUnpricedRequests(db, range, BATCH_REQUESTS),
      );
      if (found.length === 0) return;
      await parts.database.asSystem((db) => correctBatch(db, parts.ledgerSecret, found, now.getTime()));
      afterId = found.at(-1)!.id;
    }
  };
}

async function correctBatch(
  db: Db,
  secret: string,
  found: readonly RequestId[],
  nowMs: number,
): Promise<void> {
  const tenantIds = [...new Set(found.map((row) => row.tenant_id))].sort();
  const signed = (head: Omit<SignedHead, 'hmac_signature'>): SignedHead => ({
    ...head,
    hmac_signature: signHead(head, secret),
  });
  const heads = await lockLedgerHeads(db, tenantIds, (id) => signed(emptyChain(id)));
  const book = await loadPriceBook(db);
  const corrections = (await lockUnpricedRequests(db, found)).flatMap(
    (request) => correctionOf(request, book, nowMs) ?? [],
  );
  if (corrections.length === 0) return;
  const charges = await findCharges(db, tenantIds, corrections);
  await priceRequests(
    db,
    corrections.map(({ draft: _, ...priced }) => priced),
  );
  await commitCharges(db, charges, nowMs);
  const chains = heads.map((head) => {
    const own = corrections.filter((row) => row.tenant_id === head.tenant_id && row.cost_microdollars > 0);
    return chainRecords(
      head,
      own.map((row) => row.draft),
      secret,
    );
  });
  const records = chains.flatMap((chain) => chain.records);
  if (records.length === 0) return;
  await insertLedgerRecords(
    db,
    records,
    chains.map((chain) => signed(chain.head)),
  );
  for (const { records: own, head } of chains) {
    if (own.length === 0) continue;
    const cost = own.reduce((sum, record) => sum + record.cost_microdollars, 0);
    await recordAudit(db, {
      tenantId: head.tenant_id,
      actorType: 'system',
      actorId: null,
      action: 'ledger.corrected',
      resourceType: 'ledger',
      details: { records: own.length, cost_microdollars: cost, last_sequence: head.sequence_number },
    });
  }
}

/** Null when the price book still has nothing for it. */
function correctionOf(request: UnpricedRequest, book: PriceBook, nowMs: number): Correction | null {
  const { provider, model_requested, model_id } = request;
  const admittedAtMs = request.created_at.getTime();
  const find = (atMs: number) => findPrice(book, provider, model_requested, model_id, atMs);
  const found = find(admittedAtMs) ?? find(firstPriceMs(book, find(nowMs)?.priceId, admittedAtMs));
  if (!found) return null;
  const terms = { tier: request.service_tier, region: request.region };
  const cost = costOf(found.price, request.usage, terms, admittedAtMs);
  return {
    tenant_id: request.tenant_id,
    id: request.id,
    created_at: request.created_at.toISOString(),
    team_id: request.team_id,
    service_name: request.service_name,
    agent: request.agent,
    cost_microdollars: cost.microdollars,
    price_id: found.priceId,
    model_family: found.modelFamily,
    draft: {
      id: uuidv7({ msecs: nowMs }),
      kind: 'correction',
      request_id: request.id,
      provider,
      model_id: model_id ?? '',
      // The tokens were counted by the first record; only the cost was missing.
      tokens_input: 0,
      tokens_output: 0,
      cost_microdollars: cost.microdollars,
      hierarchy_path: request.hierarchy_path,
      // The request's own time: a period's cost is the same by the ledger, the rollups and the budgets.
      created_at: request.created_at.toISOString(),
    },
  };
}

/** When the first price of the model began that a price belongs to: it stands in for the time before it. */
function firstPriceMs(book: PriceBook, priceId: string | undefined, otherwiseMs: number): number {
  for (const rows of book.values()) {
    if (rows.some((row) => row.price_id === priceId)) return rows.at(-1)!.effective_from;
  }
  return otherwiseMs;
}
