import { createSecretKey, type KeyObject } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import {
  type ChainHead,
  chainRecords,
  emptyChain,
  hierarchyPath,
  type LedgerDraft,
  type LedgerRecord,
  signHead,
} from '../../ledger/chain.ts';
import type { Logger } from '../adapters/log.ts';
import type { RequestRecord } from '../domain/request-record.ts';
import { commitCharges, findCharges } from '../store/budget-charges.ts';
import type { Database } from '../store/database.ts';
import {
  ensureRequestsPartition,
  insertLedgerRecords,
  insertRequests,
  isAboutRecords,
  listKnownRequests,
  lockLedgerHeads,
  type SignedHead,
} from '../store/ingest.ts';
import { type SpentOfLease, spendLeases } from '../store/leases.ts';
import { appendRequestsToTail } from '../store/tail.ts';
import { spentOfLeases } from './charge.ts';
import type { Journal } from './journal/journal.ts';
import { reportDamage } from './journal/replay.ts';
import { listSegments, readEntries, segmentPath } from './journal/segments.ts';
import type { ModelWatch } from './model-watch.ts';

const MAX_BATCH_RECORDS = 1_000;
/** Waited after the first record of a batch, so that a busy moment becomes one transaction. */
const GATHER_MS = 100;
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;

/** A record as it was read, and the text it was read from. */
interface JournaledRecord {
  record: RequestRecord;
  json: string;
}

/** Everything before it is in the database. */
interface Cursor {
  segment: number;
  offset: number;
}

export interface IngestParts {
  database: Database;
  journal: Journal;
  /** How many records were in the journal before this run wrote its first. */
  recordsLeftBehind?: number;
  ledgerSecret: string;
  models: ModelWatch;
  nowMs: () => number;
  log: Logger;
  /** Told of every batch after its commit: what was new in it, and what came off the leases with all of it. */
  onCommitted: (records: readonly RequestRecord[], spent: readonly SpentOfLease[]) => void;
}

/**
 * Carries the journal into PostgreSQL, in order, a batch at a time. There is one way in: what this run wrote
 * and what an earlier one left behind are read from the same files by the same code, and a batch that comes
 * twice changes nothing.
 */
export class Ingest {
  readonly #parts: IngestParts;
  readonly #ledgerKey: KeyObject;
  readonly #knownMonths = new Set<string>();
  #cursor: Cursor;
  #stopping = false;
  #wake: () => void = () => {};
  #woken = false;
  #running: Promise<void> | null = null;
  #lastError: string | null = null;
  #behindSinceMs: number | null = null;
  #recordsPending: number;
  #markCaughtUp: () => void = () => {};
  /** Everything that was in the journal when it was opened is in the database. */
  readonly caughtUp = new Promise<void>((resolve) => {
    this.#markCaughtUp = resolve;
  });

  constructor(parts: IngestParts) {
    this.#parts = parts;
    this.#ledgerKey = createSecretKey(Buffer.from(parts.ledgerSecret));
    this.#cursor = {
      segment: listSegments(parts.journal.directory)[0] ?? parts.journal.currentSegment,
      offset: 0,
    };
    this.#recordsPending = parts.recordsLeftBehind ?? 0;
    parts.journal.onWritten((records) => {
      this.#recordsPending += records;
      this.#nudge();
    });
  }

  get lastError(): string | null {
    return this.#lastError;
  }

  /** Written and not yet known to be in the database. */
  get recordsPending(): number {
    return this.#recordsPending;
  }

  /** How long the oldest record has waited for the database; null when none waits. */
  lagMs(nowMs: number): number | null {
    return this.#behindSinceMs === null ? null : nowMs - this.#behindSinceMs;
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
    this.#behindSinceMs ??= performance.now();
    this.#woken = true;
    this.#wake();
  }

  async #run(): Promise<void> {
    let waitMs = MIN_RETRY_MS;
    for (;;) {
      try {
        if (!(await this.#carryOn())) return;
        waitMs = MIN_RETRY_MS;
      } catch (error) {
        // Of the disk under the journal: the database's are dealt with below.
        this.#lastError = (error as Error).message;
        this.#parts.log.error({ err: error }, 'the journal could not be carried on; trying again');
        if (this.#stopping) return;
        await sleep(waitMs);
        waitMs = Math.min(waitMs * 2, MAX_RETRY_MS);
      }
    }
  }

  /** One batch, or a rest when there is none. False when it is time to stop. */
  async #carryOn(): Promise<boolean> {
    const { records, cursor } = await this.#readBatch();
    if (records.length > 0 && !(await this.#writeUntilDone(records))) return false;
    // Only now: what was read and not written is read again.
    this.#moveTo(cursor);
    // A write that failed half way left records behind that nobody counted.
    this.#recordsPending = Math.max(0, this.#recordsPending - records.length);
    if (records.length === 0) {
      this.#behindSinceMs = null;
      this.#markCaughtUp();
      if (this.#stopping) return false;
      await this.#sleepUntilWoken();
    }
    // A full batch means there is more to catch up with; else the next moment's records are gathered first.
    if (records.length < MAX_BATCH_RECORDS && !this.#stopping) await sleep(GATHER_MS);
    return true;
  }

  /** The end records from the cursor on, through as many segments as it takes. */
  async #readBatch(): Promise<{ records: JournaledRecord[]; cursor: Cursor }> {
    const records: JournaledRecord[] = [];
    const { journal, log } = this.#parts;
    let { segment, offset } = this.#cursor;
    while (records.length < MAX_BATCH_RECORDS) {
      const isFinished = segment < journal.currentSegment;
      const next = isFinished
        ? listSegments(journal.directory).find((number) => number > segment)
        : undefined;
      const path = segmentPath(journal.directory, segment);
      const read = await readEntries(path, offset, MAX_BATCH_RECORDS - records.length);
      offset = read.offset;
      for (const entry of read.entries) {
        if (entry.kind === 'end') records.push({ json: entry.json, record: JSON.parse(entry.json) });
      }
      if (read.state === 'more') continue;
      // The next segment may not be there yet: its disk is failing.
      if (next === undefined) break;
      if (read.state === 'damaged' || fs.statSync(path).size > offset) reportDamage(path, offset, log);
      segment = next;
      offset = 0;
    }
    return { records, cursor: { segment, offset } };
  }

  /** Lets go of the segments behind it: everything in them is in the database. */
  #moveTo(cursor: Cursor): void {
    const hasLeft = cursor.segment > this.#cursor.segment;
    this.#cursor = cursor;
    if (hasLeft) this.#parts.journal.release(cursor.segment);
  }

  /** False when stopped while the database would not take it: the journal keeps it for the next start. */
  async #writeUntilDone(records: readonly JournaledRecord[]): Promise<boolean> {
    for (let waitMs = MIN_RETRY_MS; ; waitMs = Math.min(waitMs * 2, MAX_RETRY_MS)) {
      try {
        const fresh = await this.#write(records);
        this.#lastError = null;
        // All of them, not the new ones only: the answer to an earlier try may have been lost after its commit.
        this.#parts.onCommitted(fresh, spentOfLeases(records.map(({ record }) => record)));
        return true;
      } catch (error) {
        this.#lastError = (error as Error).message;
        // A month's partition may have been dropped since; the next try makes sure again.
        this.#knownMonths.clear();
        if (isAboutRecords(error)) return this.#writeApart(records, error as Error);
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
  async #writeApart(records: readonly JournaledRecord[], error: Error): Promise<boolean> {
    if (records.length === 1) return this.#writeCleaned(records[0]!, error);
    const middle = records.length >> 1;
    return (
      (await this.#writeUntilDone(records.slice(0, middle))) &&
      (await this.#writeUntilDone(records.slice(middle)))
    );
  }

  /** Text that PostgreSQL cannot hold is replaced; what is refused all the same is set aside, never dropped. */
  async #writeCleaned(journaled: JournaledRecord, error: Error): Promise<boolean> {
    const json = JSON.stringify(storable(journaled.record));
    if (json !== journaled.json) return this.#writeUntilDone([{ json, record: JSON.parse(json) }]);
    const path = join(this.#parts.journal.directory, 'quarantine.jsonl');
    this.#parts.log.fatal(
      { err: error, request: journaled.record.id, path },
      'a record cannot be stored; set aside',
    );
    fs.appendFileSync(path, `${journaled.json}\n`, { mode: 0o600, flush: true });
    this.#parts.onCommitted([], spentOfLeases([journaled.record]));
    return true;
  }

  /** Request rows, ledger records and rollups of one batch, in one transaction. */
  async #write(journaled: readonly JournaledRecord[]): Promise<RequestRecord[]> {
    const { database } = this.#parts;
    const ledgerSecret = this.#ledgerKey;
    const tenantIds = [...new Set(journaled.map(({ record }) => record.tenant_id))].sort();
    const months = new Set(journaled.map(({ record }) => `${record.created_at.slice(0, 7)}-01`));
    const written = await database.asSystem(async (db) => {
      const heads = await lockLedgerHeads(db, tenantIds, (id) => signed(emptyChain(id), ledgerSecret));
      const known = await listKnownRequests(
        db,
        journaled.map(({ record }) => record),
      );
      const news = withoutRepeats(journaled).filter(({ record }) => !known.has(record.id));
      if (news.length === 0) return [];
      const fresh = news.map(({ record }) => record);
      for (const month of months) if (!this.#knownMonths.has(month)) await ensureRequestsPartition(db, month);
      const drafts = draftsByTenant(fresh);
      const chains = heads.map((head) => chainRecords(head, drafts.get(head.tenant_id) ?? [], ledgerSecret));
      const chained = chains.flatMap((chain) => chain.records);
      const charges = await findCharges(db, tenantIds, fresh);
      await insertRequests(db, placedJson(news, chained));
      const movedHeads = chains.map((chain) => signed(chain.head, ledgerSecret));
      if (chained.length > 0) await insertLedgerRecords(db, chained, movedHeads);
      await commitCharges(db, charges, this.#parts.nowMs());
      const spent = spentOfLeases(fresh);
      if (spent.length > 0) await spendLeases(db, spent);
      await this.#parts.models.note(db, fresh);
      await appendRequestsToTail(db, fresh);
      return fresh;
    });
    for (const month of months) this.#knownMonths.add(month);
    return written;
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

/** Without what no text column takes: zero characters and halves of pairs, in names as in values. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value).toString().replaceAll('\0', '\ufffd');
  if (Array.isArray(value)) return value.map(storable);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storable(name), storable(inner)]));
}

function withoutRepeats(journaled: readonly JournaledRecord[]): JournaledRecord[] {
  return [...new Map(journaled.map((entry) => [entry.record.id, entry])).values()];
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

/** The records as one JSON array, each with its place in the ledger put at its end: no record is encoded twice. */
function placedJson(journaled: readonly JournaledRecord[], chained: readonly LedgerRecord[]): string {
  const places = new Map(chained.map((place) => [place.request_id, place]));
  const rows = journaled.map(({ record, json }) => {
    const place = places.get(record.id);
    if (!place) return json;
    return `${json.slice(0, -1)},"sequence_number":${place.sequence_number},"record_hash":"${place.record_hash}"}`;
  });
  return `[${rows.join(',')}]`;
}

function signed(head: ChainHead, secret: KeyObject): SignedHead {
  return { ...head, hmac_signature: signHead(head, secret) };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
