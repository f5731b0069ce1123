import { isRefusal } from '../../contract/errors.ts';
import type { ledgerOperations } from '../../contract/ledger.ts';
import { formatUsd } from '../../contract/money.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../contract/operation.ts';
import { emptyChain, LEDGER_CSV_COLUMNS, type LedgerRecord, signHead } from '../../ledger/chain.ts';
import { type ChainVerdict, verifyChain } from '../../ledger/verifier.ts';
import { readDayRange } from '../domain/day-range.ts';
import {
  findLedgerEnd,
  findLedgerHash,
  findLedgerStretch,
  listLedgerDownFrom,
  listLedgerInDays,
  listLedgerUpFrom,
  type SequenceRange,
} from '../store/ledger.ts';
import type { CsvFile, Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

/** Hashed in one go: few, because meanwhile this process does nothing else. */
const CHAIN_BATCH = 250;

export function ledgerApi(parts: ApiParts): Handlers<typeof ledgerOperations> {
  return {
    async listLedger({ query, caller }) {
      const range = readDayRange(query);
      if (isRefusal(range)) return range;
      const { tenantId } = caller;
      const everything = query.from === undefined && query.to === undefined;
      if (query.format === 'csv') {
        const stretch = await parts.database.asTenant(tenantId, async (db) =>
          everything
            ? { first: 1, last: (await findLedgerEnd(db, tenantId)).lastSequence }
            : findLedgerStretch(db, tenantId, range),
        );
        return ledgerCsv(parts, tenantId, stretch);
      }
      const offset = query.offset ?? 0;
      const limit = Math.min(query.limit ?? DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT);
      const page = await parts.database.asTenant(tenantId, async (db) => {
        if (!everything) return listLedgerInDays(db, tenantId, range, { limit, offset });
        // Sequence numbers have no gaps, so a deep page is found without walking to it.
        const total = (await findLedgerEnd(db, tenantId)).head?.sequence_number ?? 0;
        return { total, rows: await listLedgerDownFrom(db, tenantId, total - offset, limit) };
      });
      return { data: page.rows.map(publicRecord), total: page.total, limit, offset };
    },

    async verifyLedger({ query, caller }) {
      return verifyLedger(parts, caller.tenantId, query.from_seq ?? 1, query.to_seq);
    },
  };
}

function publicRecord(record: LedgerRecord) {
  const { tenant_id: _tenant, previous_hash: _previous, hmac_signature: _signature, ...shown } = record;
  return { ...shown, cost_usd: formatUsd(record.cost_microdollars) };
}

function ledgerCsv(parts: ApiParts, tenantId: string, stretch: SequenceRange | null): CsvFile {
  async function* rows() {
    for await (const record of stretch ? readChain(parts, tenantId, stretch) : []) {
      const cells = { ...record, cost_usd: formatUsd(record.cost_microdollars) };
      yield LEDGER_CSV_COLUMNS.map((column) => cells[column]);
    }
  }
  return { kind: 'csv', filename: 'ledger.csv', columns: LEDGER_CSV_COLUMNS, rows: rows() };
}

/**
 * A stretch of the chain in order, a batch at a time, each in a transaction of its own. While one is worked on
 * the next is fetched, so that database and hashing take turns at no one's cost.
 */
async function* readChain(
  parts: ApiParts,
  tenantId: string,
  stretch: SequenceRange,
): AsyncGenerator<LedgerRecord> {
  const fetchFrom = (first: number) => {
    const range = { first, last: stretch.last };
    const batch = parts.database.asTenant(tenantId, (db) =>
      listLedgerUpFrom(db, tenantId, range, CHAIN_BATCH),
    );
    // A reader who stops early never awaits it; its failure is then nobody's.
    batch.catch(() => {});
    return batch;
  };
  let coming = fetchFrom(stretch.first);
  for (;;) {
    const batch = await coming;
    const last = batch.at(-1)?.sequence_number ?? stretch.last;
    if (last < stretch.last) coming = fetchFrom(last + 1);
    yield* batch;
    if (last >= stretch.last) return;
  }
}

async function verifyLedger(
  parts: ApiParts,
  tenantId: string,
  from: number,
  to: number | undefined,
): Promise<ChainVerdict> {
  const { end, previousHash } = await parts.database.asTenant(tenantId, async (db) => ({
    end: await findLedgerEnd(db, tenantId),
    previousHash: from > 1 ? await findLedgerHash(db, tenantId, from - 1) : null,
  }));
  const head = end.head ?? { ...emptyChain(tenantId), hmac_signature: null };
  // What lies after the head, or before it and is gone, is only found by looking as far as either says.
  const newest = Math.max(head.sequence_number, end.lastSequence);
  const last = Math.min(to ?? newest, newest);
  const verifier = verifyChain({
    fromSequence: from,
    tenantId,
    secret: parts.ledgerSecret,
    ...(previousHash !== null && { previousHash }),
  });
  if (from > last) return verifier.verdict();

  let expected = from;
  for await (const record of readChain(parts, tenantId, { first: from, last })) {
    if (verifier.push(record)) return verifier.verdict();
    expected = record.sequence_number + 1;
  }
  if (last < newest) {
    if (expected <= last) {
      verifier.fail({ sequence_number: expected, reason: `record ${expected} is missing` });
    }
    return verifier.verdict();
  }
  verifier.checkHead(head);
  if (end.head && signHead(end.head, parts.ledgerSecret) !== end.head.hmac_signature) {
    verifier.fail({
      sequence_number: end.head.sequence_number,
      reason: "the head of the chain was not signed with this deployment's secret",
    });
  }
  return verifier.verdict();
}
