import fs from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../adapters/log.ts';
import {
  type ChainHead,
  chainRecords,
  emptyChain,
  hierarchyPath,
  type LedgerDraft,
  type LedgerRecord,
  signHead,
} from '../domain/ledger.ts';
import type { RequestRecord } from '../domain/request-record.ts';
import { type Database, isTransient } from '../store/database.ts';
import {
  ensureRequestsPartition,
  insertLedgerRecords,
  insertRequests,
  listKnownRequests,
  lockLedgerHeads,
  type PlacedRecord,
  type SignedHead,
} from '../store/ingest.ts';
import type { Journal } from './journal/journal.ts';
import { reportDamage } from './journal/replay.ts';
import { listSegments, readEntries, segmentPath } from './journal/segments.ts';

const MAX_BATCH_RECORDS = 1_000;
/** Waited after the first record of a batch, so that a busy moment becomes one transaction. */
const GATHER_MS = 100;
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;

export interface IngestParts {
  database: Database;
  journal: Journal;
  ledgerSecret: string;
  log: Logger;
  /** Told of every batch after its commit. */
  onCommitted: (records: readonly PlacedRecord[]) => void;
}

/**
 * Carries the journal into PostgreSQL, in order, a batch at a time. There is one way in: what this run wrote
 * and what an earlier one left behind are read from the same files by the same code, and a batch that comes
 * twice changes nothing.
 */
export class Ingest {
  readonly #parts: IngestParts;
  readonly #knownMonths = new Set<string>();
  #segment: number;
  #offset = 0;
  #stopping = false;
  #wake: () => void = () => {};
  #woken = false;
  #running: Promise<void> | null = null;
  #lastError: string | null = null;

  constructor(parts: IngestParts) {
    this.#parts = parts;
    this.#segment = listSegments(parts.journal.directory)[0]!;
    parts.journal.onWritten(() => this.#nudge());
  }

  get lastError(): string | null {
    return this.#lastError;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Carries over what is there, as long as the database takes it, and stops. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#nudge();
    await this.#running;
  }

  #nudge(): void {
    this.#woken = true;
    this.#wake();
  }

  async #run(): Promise<void> {
    for (;;) {
      const records = await this.#readBatch();
      if (records.length > 0) {
        const written = await this.#writeUntilDone(records);
        if (!written) return;
        continue;
      }
      if (this.#stopping) return;
      await this.#sleepUntilWoken();
      if (!this.#stopping) await sleep(GATHER_MS);
    }
  }

  /** The end records from the cursor on; moves from segment to segment and lets go of those it has behind it. */
  async #readBatch(): Promise<RequestRecord[]> {
    const records: RequestRecord[] = [];
    const { journal, log } = this.#parts;
    while (records.length < MAX_BATCH_RECORDS) {
      const path = segmentPath(journal.directory, this.#segment);
      const finished = this.#segment < journal.currentSegment;
      const read = await readEntries(path, this.#offset, MAX_BATCH_RECORDS - records.length);
      this.#offset = read.offset;
      for (const entry of read.entries) if (entry.kind === 'end') records.push(entry.record);
      if (read.state === 'more') continue;
      if (!finished) break;
      if (read.state === 'damaged' || fs.statSync(path).size > read.offset)
        reportDamage(path, read.offset, log);
      // The batch is committed before the cursor leaves its segment, or the segment could go too early.
      if (records.length > 0) break;
      this.#segment = listSegments(journal.directory).find((number) => number > this.#segment)!;
      this.#offset = 0;
      journal.release(this.#segment);
    }
    return records;
  }

  /** False when stopped while the database would not take it: the journal keeps it for the next start. */
  async #writeUntilDone(records: readonly RequestRecord[]): Promise<boolean> {
    for (let waitMs = MIN_RETRY_MS; ; waitMs = Math.min(waitMs * 2, MAX_RETRY_MS)) {
      try {
        const placed = await this.#write(records);
        this.#lastError = null;
        if (placed.length > 0) this.#parts.onCommitted(placed);
        return true;
      } catch (error) {
        this.#lastError = (error as Error).message;
        if (!isTransient(error)) return this.#writeApart(records, error as Error);
        this.#parts.log.warn(
          { err: error, records: records.length },
          'the database did not take a batch; trying again',
        );
        if (this.#stopping) return false;
        await sleep(waitMs);
      }
    }
  }

  /** One record the database refuses for what it is must not hold up all others: halve until it stands alone. */
  async #writeApart(records: readonly RequestRecord[], error: Error): Promise<boolean> {
    if (records.length === 1) {
      const path = join(this.#parts.journal.directory, 'quarantine.jsonl');
      this.#parts.log.fatal(
        { err: error, request: records[0]!.id, path },
        'a record cannot be stored; set aside',
      );
      fs.appendFileSync(path, `${JSON.stringify(records[0])}\n`, { mode: 0o600, flush: true });
      return true;
    }
    const middle = records.length >> 1;
    return (
      (await this.#writeUntilDone(records.slice(0, middle))) &&
      (await this.#writeUntilDone(records.slice(middle)))
    );
  }

  /** Request rows, ledger records and rollups of one batch, in one transaction. */
  async #write(records: readonly RequestRecord[]): Promise<PlacedRecord[]> {
    const { database, ledgerSecret } = this.#parts;
    const tenantIds = [...new Set(records.map((record) => record.tenant_id))].sort();
    const months = new Set(records.map((record) => `${record.created_at.slice(0, 7)}-01`));
    const placed = await database.asSystem(async (db) => {
      const heads = await lockLedgerHeads(db, tenantIds, (id) => signed(emptyChain(id), ledgerSecret));
      const known = await listKnownRequests(db, records);
      const fresh = withoutRepeats(records).filter((record) => !known.has(record.id));
      if (fresh.length === 0) return [];
      for (const month of months) if (!this.#knownMonths.has(month)) await ensureRequestsPartition(db, month);
      const drafts = draftsByTenant(fresh);
      const chains = heads.map((head) => chainRecords(head, drafts.get(head.tenant_id) ?? [], ledgerSecret));
      const chained = chains.flatMap((chain) => chain.records);
      const placed = placeRecords(fresh, chained);
      await insertRequests(db, JSON.stringify(placed));
      const movedHeads = chains.map((chain) => signed(chain.head, ledgerSecret));
      if (chained.length > 0) await insertLedgerRecords(db, chained, movedHeads);
      return placed;
    });
    for (const month of months) this.#knownMonths.add(month);
    return placed;
  }

  async #sleepUntilWoken(): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#woken = false;
    this.#wake = () => {};
  }
}

function withoutRepeats(records: readonly RequestRecord[]): RequestRecord[] {
  return [...new Map(records.map((record) => [record.id, record])).values()];
}

function draftsByTenant(records: readonly RequestRecord[]): Map<string, LedgerDraft[]> {
  const drafts = new Map<string, LedgerDraft[]>();
  for (const record of records) {
    if (!record.in_ledger) continue;
    const own = drafts.get(record.tenant_id);
    if (own) own.push(ledgerDraft(record));
    else drafts.set(record.tenant_id, [ledgerDraft(record)]);
  }
  return drafts;
}

function ledgerDraft(record: RequestRecord): LedgerDraft {
  return {
    id: record.id,
    kind: 'request',
    request_id: record.id,
    provider: record.provider,
    model_id: record.model_id ?? '',
    tokens_input: record.tokens_input,
    tokens_output: record.tokens_output,
    cost_microdollars: record.cost_microdollars,
    hierarchy_path: hierarchyPath(record.team_slug, record.service_name),
    created_at: record.created_at,
  };
}

function placeRecords(records: readonly RequestRecord[], chained: readonly LedgerRecord[]): PlacedRecord[] {
  const places = new Map(chained.map((place) => [place.request_id, place]));
  return records.map((record) => ({
    ...record,
    sequence_number: places.get(record.id)?.sequence_number ?? null,
    record_hash: places.get(record.id)?.record_hash ?? null,
  }));
}

function signed(head: ChainHead, secret: string): SignedHead {
  return { ...head, hmac_signature: signHead(head, secret) };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
