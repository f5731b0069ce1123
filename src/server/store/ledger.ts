import sql from 'sql-template-tag';
import type { LedgerRecord } from '../../ledger/chain.ts';
import type { DayRange } from '../domain/day-range.ts';
import type { Db } from './database.ts';
import type { SignedHead } from './ingest.ts';

/** Sequence numbers, both inclusive. */
export interface SequenceRange {
  first: number;
  last: number;
}

type LedgerRow = Omit<LedgerRecord, 'created_at'> & { created_at: Date };

const COLUMNS = sql`
  tenant_id, sequence_number, id, kind, request_id, provider, model_id, tokens_input, tokens_output,
  cost_microdollars, hierarchy_path, created_at, previous_hash, record_hash, hmac_signature`;

function recordOf(row: LedgerRow): LedgerRecord {
  return { ...row, created_at: row.created_at.toISOString() };
}

/** Where a chain ends by its head and by its records, seen at one instant; null heads are new tenants'. */
export async function findLedgerEnd(
  db: Db,
  tenantId: string,
): Promise<{ head: SignedHead | null; lastSequence: number }> {
  const ends = await db.query<
    { last_sequence: number } & { [Field in keyof SignedHead]: SignedHead[Field] | null }
  >(
    sql`
    select head.tenant_id, head.sequence_number, head.record_hash, head.hmac_signature, newest.last_sequence
      from (select coalesce(max(sequence_number), 0) as last_sequence
              from ledger_records where tenant_id = ${tenantId}) newest
      left join ledger_heads head on head.tenant_id = ${tenantId}`,
  );
  const { last_sequence: lastSequence, ...head } = ends[0]!;
  return { head: head.tenant_id === null ? null : (head as SignedHead), lastSequence };
}

/** Newest first from a sequence number down. */
export async function listLedgerDownFrom(
  db: Db,
  tenantId: string,
  sequence: number,
  limit: number,
): Promise<LedgerRecord[]> {
  const rows = await db.query<LedgerRow>(sql`
    select ${COLUMNS} from ledger_records
     where tenant_id = ${tenantId} and sequence_number <= ${sequence}
     order by sequence_number desc limit ${limit}`);
  return rows.map(recordOf);
}

/** The chain in order, so many records after a sequence number. */
export async function listLedgerUpFrom(
  db: Db,
  tenantId: string,
  range: SequenceRange,
  limit: number,
): Promise<LedgerRecord[]> {
  const rows = await db.query<LedgerRow>(sql`
    select ${COLUMNS} from ledger_records
     where tenant_id = ${tenantId} and sequence_number between ${range.first} and ${range.last}
     order by sequence_number limit ${limit}`);
  return rows.map(recordOf);
}

/**
 * Newest first by the time of the request, which is not quite the order of the chain: a request takes its
 * place there when it has ended. The days are counted already, so only the one the page begins in is walked.
 */
export async function listLedgerInDays(
  db: Db,
  tenantId: string,
  range: DayRange,
  page: { limit: number; offset: number },
): Promise<{ rows: LedgerRecord[]; total: number }> {
  const days = await db.query<{ day: string; records: number }>(sql`
    select day::text, records from ledger_days
     where tenant_id = ${tenantId} and day between ${range.from} and ${range.to}
     order by day desc`);
  let skip = page.offset;
  const first = days.find(({ records }) => {
    if (skip < records) return true;
    skip -= records;
    return false;
  });
  const total = days.reduce((sum, { records }) => sum + records, 0);
  if (!first) return { rows: [], total };
  const rows = await db.query<LedgerRow>(sql`
    select ${COLUMNS} from ledger_records
     where tenant_id = ${tenantId}
       and created_at >= ${range.from}::timestamp at time zone 'UTC'
       and created_at < (${first.day}::timestamp + interval '1 day') at time zone 'UTC'
     order by created_at desc, sequence_number desc limit ${page.limit} offset ${skip}`);
  return { rows: rows.map(recordOf), total };
}

/** The stretch of the chain from the first to the last record of these days; null when there is none. */
export async function findLedgerStretch(
  db: Db,
  tenantId: string,
  range: DayRange,
): Promise<SequenceRange | null> {
  const rows = await db.query<{ first: number | null; last: number | null }>(sql`
    select min(first_sequence) as first, max(last_sequence) as last
      from ledger_days where tenant_id = ${tenantId} and day between ${range.from} and ${range.to}`);
  const { first, last } = rows[0]!;
  return first === null || last === null ? null : { first, last };
}

export async function findLedgerHash(db: Db, tenantId: string, sequence: number): Promise<string | null> {
  const rows = await db.query<{ record_hash: string }>(sql`
    select record_hash from ledger_records where tenant_id = ${tenantId} and sequence_number = ${sequence}`);
  return rows[0]?.record_hash ?? null;
}
