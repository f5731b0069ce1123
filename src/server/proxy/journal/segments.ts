import fs from 'node:fs';
import { join } from 'node:path';
import { decodeFrame, encodeFrames, type JournalEntry, MAX_PAYLOAD_BYTES, SEAL } from './frame.ts';

/** The calls the journal makes on the disk; tests put failing ones in their place. */
export interface Disk {
  openSync: (path: string, flags: string, mode?: number) => number;
  writeSync: (fd: number, bytes: Buffer, offset: number, length: number) => number;
  fdatasync: (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => void;
  fsyncSync: (fd: number) => void;
  closeSync: (fd: number) => void;
}

export const realDisk: Disk = {
  openSync: fs.openSync,
  writeSync: fs.writeSync,
  fdatasync: fs.fdatasync,
  fsyncSync: fs.fsyncSync,
  closeSync: fs.closeSync,
};

const SEGMENT_NAME = /^(\d{10})\.journal$/;
/** At least one whole frame of the largest size fits, so that reading always gets on. */
const READ_BYTES = 2 * MAX_PAYLOAD_BYTES;

export function segmentPath(directory: string, number: number): string {
  return join(directory, `${String(number).padStart(10, '0')}.journal`);
}

export function listSegments(directory: string): number[] {
  return fs
    .readdirSync(directory)
    .flatMap((name) => (SEGMENT_NAME.test(name) ? [Number(SEGMENT_NAME.exec(name)![1])] : []))
    .sort((a, b) => a - b);
}

/** A new, empty segment whose name is on disk too before anything in it is relied upon. */
export function createSegment(disk: Disk, directory: string, number: number): number {
  const fd = disk.openSync(segmentPath(directory, number), 'wx', 0o600);
  try {
    const directoryFd = disk.openSync(directory, 'r');
    try {
      disk.fsyncSync(directoryFd);
    } finally {
      disk.closeSync(directoryFd);
    }
  } catch (error) {
    disk.closeSync(fd);
    throw error;
  }
  return fd;
}

/** Whether a segment was closed in order; one that was not may end in a torn entry. */
export function isSealed(path: string): boolean {
  const fd = fs.openSync(path, 'r');
  try {
    const size = fs.fstatSync(fd).size;
    const seal = encodeFrames([SEAL]);
    if (size < seal.length) return false;
    const tail = Buffer.alloc(seal.length);
    fs.readSync(fd, tail, 0, tail.length, size - tail.length);
    return tail.equals(seal);
  } finally {
    fs.closeSync(fd);
  }
}

export interface ReadEntries {
  entries: JournalEntry[];
  /** Where the next read goes on. */
  offset: number;
  /** `more` bytes are there already; `end` of what is written; `damaged` at the offset. */
  state: 'more' | 'end' | 'damaged';
}

/** The next entries of a segment from an offset on, as many as a bounded read holds. */
export async function readEntries(path: string, offset: number, maxEntries: number): Promise<ReadEntries> {
  const file = await fs.promises.open(path, 'r');
  let bytes: Buffer;
  let size: number;
  try {
    size = (await file.stat()).size;
    const wanted = Math.min(READ_BYTES, Math.max(0, size - offset));
    const buffer = Buffer.allocUnsafe(wanted);
    const { bytesRead } = await file.read(buffer, 0, wanted, offset);
    bytes = buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
  const entries: JournalEntry[] = [];
  let position = 0;
  while (entries.length < maxEntries) {
    const frame = decodeFrame(bytes, position);
    if (frame.kind === 'damaged') return { entries, offset: offset + position, state: 'damaged' };
    if (frame.kind === 'short') break;
    entries.push(frame.entry);
    position = frame.nextOffset;
  }
  const next = offset + position;
  // A short read that got on means more may follow; one that did not is the end of what is written.
  const state = entries.length > 0 && next < size ? 'more' : 'end';
  return { entries, offset: next, state };
}
