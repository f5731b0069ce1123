import fs from 'node:fs';
import type { Logger } from '../../adapters/log.ts';
import type { AdmittedRequest, RequestOutcome } from '../../domain/request-record.ts';
import { checkSize, encodeFrames, type JournalEntry, SEAL } from './frame.ts';
import { createSegment, type Disk, listSegments, realDisk, segmentPath } from './segments.ts';

const MAX_SEGMENT_BYTES = 16 * 1024 * 1024;
/** Only whole segments are let go, so a full journal must consist of several to get empty again. */
const MIN_SEGMENTS_WHEN_FULL = 4;
const REOPEN_AFTER_MS = 1_000;
/** One fresh segment may heal a bad spot; a second failure in a row is a bad disk. */
const MAX_FAILURES_IN_A_ROW = 2;

/** The journal cannot take the entry; nothing may be promised on it. */
export class JournalUnavailable extends Error {}

/** Begin entries are done when written (a killed process cannot lose them); all others when on disk. */
interface Waiting extends JournalEntry {
  id: string;
  done: () => void;
  failed: (error: Error) => void;
}

/**
 * The node's own record of what it did, written before a client may believe it. Appends of one turn of the
 * event loop become one write, and all that was written while a sync ran is covered by the next: group commit.
 *
 * A segment whose write or sync failed is never written to again (after a failed fsync the kernel may have
 * dropped the pages and report success the next time): what was not known to be on disk goes into a new one.
 */
export class Journal {
  readonly directory: string;
  readonly #disk: Disk;
  readonly #maxBytes: number;
  readonly #maxSegmentBytes: number;
  readonly #log: Logger;
  /** Admitted and not ended, by id; carried into every new segment so that older ones can go. */
  readonly #open = new Map<string, JournalEntry>();
  #queue: Waiting[] = [];
  #written: Waiting[] = [];
  /** Refused, but to be written all the same as soon as there is a disk again: what has happened has happened. */
  #late: Waiting[] = [];
  #fd: number | null = null;
  #number = 0;
  #segmentBytes = 0;
  #totalBytes = 0;
  #flushScheduled = false;
  #syncingFd: number | null = null;
  #failuresInARow = 0;
  #closed = false;
  #reopenTimer: NodeJS.Timeout | null = null;
  #onWritten: (records: number) => void = () => {};

  constructor(options: { directory: string; maxBytes: number; log: Logger; disk?: Disk }) {
    this.directory = options.directory;
    this.#disk = options.disk ?? realDisk;
    this.#maxBytes = options.maxBytes;
    this.#maxSegmentBytes = Math.min(
      MAX_SEGMENT_BYTES,
      Math.floor(options.maxBytes / MIN_SEGMENTS_WHEN_FULL),
    );
    this.#log = options.log;
    fs.mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    const existing = listSegments(this.directory);
    this.#number = existing.at(-1) ?? 0;
    this.#totalBytes = existing.reduce((sum, n) => sum + fs.statSync(segmentPath(this.directory, n)).size, 0);
    this.#startSegment();
  }

  /** Whether a new request may rely on the journal. */
  get writable(): boolean {
    return this.#fd !== null && !this.#closed && this.#totalBytes < this.#maxBytes;
  }

  get bytes(): number {
    return this.#totalBytes;
  }

  get currentSegment(): number {
    return this.#number;
  }

  /** Called after entries were written, with how many of them are records, to wake whoever carries them on. */
  onWritten(listener: (records: number) => void): void {
    this.#onWritten = listener;
  }

  /** Written when it returns: killing the process does not lose it. */
  begin(request: AdmittedRequest): Promise<void> {
    if (!this.writable) return Promise.reject(new JournalUnavailable('the journal takes no new requests'));
    const json = JSON.stringify(request);
    checkSize(json);
    this.#open.set(request.id, { kind: 'begin', json });
    return this.#append(request.id, 'begin', json);
  }

  /**
   * On disk when it returns: the response may be completed. One that is refused is written later if it can be;
   * until then its begin entry stands for it. The record is the begin entry's own text with the outcome at its
   * end, so that nothing is encoded twice.
   */
  end(request: AdmittedRequest, outcome: RequestOutcome): Promise<void> {
    const begun = this.#open.get(request.id)?.json ?? JSON.stringify(request);
    const json = `${begun.slice(0, -1)},${JSON.stringify(outcome).slice(1)}`;
    checkSize(json);
    return this.#append(request.id, 'end', json);
  }

  /** Everything in segments before this one has been carried on. */
  release(beforeSegment: number): void {
    for (const number of listSegments(this.directory)) {
      if (number >= beforeSegment || number === this.#number) continue;
      const path = segmentPath(this.directory, number);
      this.#totalBytes -= fs.statSync(path).size;
      fs.unlinkSync(path);
    }
  }

  async close(): Promise<void> {
    while (
      this.#fd !== null &&
      (this.#queue.length > 0 || this.#written.length > 0 || this.#syncingFd !== null)
    )
      await new Promise((resolve) => setImmediate(resolve));
    this.#closed = true;
    if (this.#reopenTimer) clearTimeout(this.#reopenTimer);
    this.#failWaiting(new Error('the journal is closed'));
    const fd = this.#fd;
    if (fd === null) return;
    try {
      // Requests still open here will never end; their begin entries stay for the next start to find.
      if (this.#open.size === 0) this.#writeFully(encodeFrames([SEAL]));
      this.#disk.fsyncSync(fd);
    } catch (error) {
      this.#log.error({ err: error, segment: this.#number }, 'the last journal segment could not be sealed');
    }
    this.#closeQuietly(fd);
  }

  #append(id: string, kind: 'begin' | 'end', json: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new JournalUnavailable('the journal is closed'));
      const done = () => {
        if (kind === 'end') this.#open.delete(id);
        resolve();
      };
      this.#queue.push({ id, kind, json, done, failed: reject });
      if (this.#fd === null || this.#flushScheduled) return;
      this.#flushScheduled = true;
      setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    this.#flushScheduled = false;
    if (this.#queue.length === 0 || this.#fd === null) return;
    const batch = this.#queue;
    this.#queue = [];
    try {
      this.#writeFully(encodeFrames(batch));
    } catch (error) {
      this.#written.push(...batch);
      return this.#abandonSegment(error as Error);
    }
    let records = 0;
    for (const waiting of batch) {
      if (waiting.kind === 'end') records += 1;
      if (waiting.kind === 'begin') waiting.done();
      else this.#written.push(waiting);
    }
    this.#onWritten(records);
    this.#sync();
  }

  #sync(): void {
    if (this.#syncingFd !== null || this.#written.length === 0 || this.#fd === null) return;
    const fd = this.#fd;
    const covered = this.#written;
    this.#written = [];
    this.#syncingFd = fd;
    this.#disk.fdatasync(fd, (error) => {
      this.#syncingFd = null;
      const abandoned = this.#fd !== fd;
      if (abandoned) this.#closeQuietly(fd);
      if (error) {
        this.#written = [...covered, ...this.#written];
        if (!abandoned) return this.#abandonSegment(error);
        this.#queue.unshift(...this.#written.splice(0));
        return this.#flush();
      }
      this.#failuresInARow = 0;
      for (const { done } of covered) done();
      if (this.#segmentBytes >= this.#maxSegmentBytes && !abandoned) this.#rotate();
      this.#sync();
    });
  }

  /** Once per segment the loop waits for the disk itself, so that no entry is ever astride two segments. */
  #rotate(): void {
    const fd = this.#fd!;
    try {
      this.#writeFully(encodeFrames([SEAL]));
      this.#disk.fsyncSync(fd);
    } catch (error) {
      return this.#abandonSegment(error as Error);
    }
    for (const { done } of this.#written.splice(0)) done();
    this.#closeQuietly(fd);
    this.#startSegment();
  }

  /** Opens the next segment, with the requests in flight at its head. */
  #startSegment(): void {
    if (this.#closed) return;
    try {
      this.#number += 1;
      this.#segmentBytes = 0;
      this.#fd = createSegment(this.#disk, this.directory, this.#number);
      if (this.#open.size > 0) this.#writeFully(encodeFrames([...this.#open.values()]));
    } catch (error) {
      return this.#abandonSegment(error as Error);
    }
    this.#queue.unshift(...this.#late.splice(0));
    this.#flush();
  }

  /**
   * This file is done for. What was waiting for it goes into a new one; when that fails too it is refused, and
   * a new segment is tried every second.
   */
  #abandonSegment(error: Error): void {
    this.#log.error({ err: error, segment: this.#number }, 'a journal segment failed; going on in a new one');
    this.#failuresInARow += 1;
    // A sync that is still under way closes the descriptor when it returns.
    if (this.#fd !== null && this.#fd !== this.#syncingFd) this.#closeQuietly(this.#fd);
    this.#fd = null;
    this.#queue.unshift(...this.#written.splice(0));
    if (this.#failuresInARow < MAX_FAILURES_IN_A_ROW) return this.#startSegment();
    this.#failWaiting(error);
    this.#reopenTimer = setTimeout(() => this.#startSegment(), REOPEN_AFTER_MS).unref();
  }

  #failWaiting(error: Error): void {
    for (const waiting of this.#queue.splice(0)) {
      waiting.failed(new JournalUnavailable(error.message));
      this.#late.push(waiting.kind === 'begin' ? this.#takenBack(waiting.id) : waiting);
    }
  }

  /** A begin entry that was refused may have got to the disk, and would look like a request cut short by a kill. */
  #takenBack(id: string): Waiting {
    this.#open.delete(id);
    return { id, kind: 'void', json: JSON.stringify({ id }), done: () => {}, failed: () => {} };
  }

  #closeQuietly(fd: number): void {
    if (this.#fd === fd) this.#fd = null;
    try {
      this.#disk.closeSync(fd);
    } catch {
      // Nothing can be done about it, and the file is not used again.
    }
  }

  #writeFully(bytes: Buffer): void {
    let offset = 0;
    while (offset < bytes.length) {
      const written = this.#disk.writeSync(this.#fd!, bytes, offset, bytes.length - offset);
      offset += written;
      this.#segmentBytes += written;
      this.#totalBytes += written;
    }
  }
}
