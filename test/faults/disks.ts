import fs from 'node:fs';
import { createLogger } from '../../src/server/adapters/log.ts';
import type { AdmittedRequest, RequestOutcome } from '../../src/server/domain/request-record.ts';
import type { JournalEntry } from '../../src/server/proxy/journal/frame.ts';
import {
  type Disk,
  listSegments,
  readEntries,
  realDisk,
  segmentPath,
} from '../../src/server/proxy/journal/segments.ts';

export const SILENT = createLogger('silent');

export type DiskCall = 'open' | 'write' | 'sync';

/** What the disk was asked to do, on which descriptor, and how it ended. */
export interface DiskEvent {
  call: DiskCall;
  fd: number;
  failed: boolean;
}

/** A disk on which the calls that `fails` picks fail; a failing write may have written a part. */
export function failingDisk(fails: (call: DiskCall, count: number) => string | null): {
  disk: Disk;
  events: DiskEvent[];
} {
  const counts = { open: 0, write: 0, sync: 0 };
  const events: DiskEvent[] = [];
  const errorOf = (call: DiskCall): NodeJS.ErrnoException | null => {
    counts[call] += 1;
    const code = fails(call, counts[call]);
    return code === null ? null : Object.assign(new Error(`${code}: made up`), { code });
  };
  const synced = (fd: number, error: Error | null) =>
    events.push({ call: 'sync', fd, failed: error !== null });
  const disk: Disk = {
    openSync: (path, flags, mode) => {
      const error = errorOf('open');
      if (error) throw error;
      return realDisk.openSync(path, flags, mode);
    },
    writeSync: (fd, bytes, offset, length) => {
      const error = errorOf('write');
      events.push({ call: 'write', fd, failed: error !== null });
      if (!error) return realDisk.writeSync(fd, bytes, offset, length);
      realDisk.writeSync(fd, bytes, offset, length >> 1);
      throw error;
    },
    fdatasync: (fd, done) => {
      const error = errorOf('sync');
      setImmediate(() => {
        synced(fd, error);
        done(error);
      });
    },
    fsyncSync: (fd) => {
      const error = errorOf('sync');
      synced(fd, error);
      if (error) throw error;
    },
    closeSync: (fd) => {
      // Another file may get the same number; what is said of this one must not be taken for that one's.
      events.push({ call: 'open', fd, failed: false });
      realDisk.closeSync(fd);
    },
  };
  return { disk, events };
}

/** Every entry that can be read back, segment by segment, as a start would. */
export async function readBack(directory: string): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (const number of listSegments(directory)) {
    let offset = 0;
    for (;;) {
      const read = await readEntries(segmentPath(directory, number), offset, 1_000);
      entries.push(...read.entries);
      offset = read.offset;
      if (read.state !== 'more') break;
    }
  }
  return entries;
}

export async function endedIds(directory: string): Promise<string[]> {
  const entries = await readBack(directory);
  return entries.flatMap((entry) => (entry.kind === 'end' ? [JSON.parse(entry.json).id as string] : []));
}

export function admitted(id: string, padding = ''): AdmittedRequest {
  return { id, tags: { padding } } as unknown as AdmittedRequest;
}

export function ended(id: string, padding = ''): [AdmittedRequest, RequestOutcome] {
  return [admitted(id), { anomalies: [padding] } as RequestOutcome];
}

/** Remembers what a power cut would keep, and then keeps just that. */
export class ForgetfulDisk {
  readonly disk: Disk;
  readonly #paths = new Map<number, string>();
  readonly #syncedBytes = new Map<string, number>();
  readonly #namedForGood = new Set<string>();
  /** After the cut nothing this disk is told has any effect, and it says nothing any more. */
  #dead = false;

  constructor() {
    this.disk = {
      openSync: (path, flags, mode) => {
        const fd = realDisk.openSync(path, flags, mode);
        this.#paths.set(fd, path);
        return fd;
      },
      writeSync: (fd, bytes, offset, length) =>
        this.#dead ? length : realDisk.writeSync(fd, bytes, offset, length),
      fdatasync: (fd, done) => {
        if (this.#dead) return;
        const path = this.#paths.get(fd)!;
        const bytes = fs.fstatSync(fd).size;
        setImmediate(() => {
          if (this.#dead) return;
          this.#syncedBytes.set(path, bytes);
          done(null);
        });
      },
      fsyncSync: (fd) => {
        if (this.#dead) return;
        const path = this.#paths.get(fd)!;
        if (!path.endsWith('.journal')) {
          for (const name of fs.readdirSync(path)) this.#namedForGood.add(`${path}/${name}`);
        } else this.#syncedBytes.set(path, fs.fstatSync(fd).size);
      },
      closeSync: (fd) => {
        if (this.#dead) return;
        this.#paths.delete(fd);
        realDisk.closeSync(fd);
      },
    };
  }

  /** What was not synced may be there, in part, as zeros or as rubbish, or not at all. */
  cutPower(directory: string, random: (below: number) => number): void {
    this.#dead = true;
    for (const fd of this.#paths.keys()) realDisk.closeSync(fd);
    for (const number of listSegments(directory)) {
      const path = segmentPath(directory, number);
      if (!this.#namedForGood.has(path)) {
        fs.unlinkSync(path);
        continue;
      }
      const bytes = fs.readFileSync(path);
      const synced = this.#syncedBytes.get(path) ?? 0;
      const length = synced + random(bytes.length - synced + 1);
      const left = Buffer.from(bytes.subarray(0, length));
      const spoiltFrom = synced + random(length - synced + 1);
      if (random(2) === 0) left.fill(random(2) === 0 ? 0 : 0x65, spoiltFrom);
      fs.writeFileSync(path, left);
    }
  }
}
