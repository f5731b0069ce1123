import { crc32 } from 'node:zlib';

/**
 * One entry on disk: length and checksum of what follows, one byte that says what it is, and its JSON. A length
 * that runs past the file or a checksum that does not match ends the readable part of a segment.
 */
const HEADER_BYTES = 8;
export const MAX_PAYLOAD_BYTES = 1024 * 1024;

const KIND_BYTES = { begin: 0x62, end: 0x65, void: 0x76, seal: 0x73 };
const KINDS = new Map(Object.entries(KIND_BYTES).map(([kind, byte]) => [byte, kind as JournalEntry['kind']]));

/** The text of the JSON is left as it is until somebody needs what is in it. */
export interface JournalEntry {
  /**
   * `begin`: a request was let through. `end`: it ended, and this is its record. `void`: it was taken back
   * before anybody heard of it, and a begin entry of this id, wherever it got to, means nothing. `seal`: last
   * entry of a segment that was closed in order; everything before it must be readable.
   */
  kind: keyof typeof KIND_BYTES;
  json: string;
}

/** A character is at most this many bytes of UTF-8. */
const MAX_CHARACTER_BYTES = 3;
const SCRATCH_BYTES = 256 * 1024;
const scratch = Buffer.alloc(SCRATCH_BYTES);

/** Throws when an entry could not be read back. */
export function checkSize(json: string): void {
  if (json.length * MAX_CHARACTER_BYTES < MAX_PAYLOAD_BYTES) return;
  if (Buffer.byteLength(json) >= MAX_PAYLOAD_BYTES) throw new Error('journal entry too large');
}

/** The entries one after the other, in bytes that are good until the next call. */
export function encodeFrames(entries: readonly JournalEntry[]): Buffer {
  let bytesAtMost = 0;
  for (const { json } of entries) bytesAtMost += HEADER_BYTES + 1 + json.length * MAX_CHARACTER_BYTES;
  const frames = bytesAtMost <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(bytesAtMost);
  let at = 0;
  for (const { kind, json } of entries) {
    const start = at + HEADER_BYTES;
    frames[start] = KIND_BYTES[kind];
    const end = start + 1 + frames.write(json, start + 1);
    frames.writeUInt32LE(end - start, at);
    frames.writeUInt32LE(crc32(frames.subarray(start, end)), at + 4);
    at = end;
  }
  return frames.subarray(0, at);
}

export const SEAL: JournalEntry = { kind: 'seal', json: '' };

export type DecodedFrame =
  | { kind: 'entry'; entry: JournalEntry; nextOffset: number }
  /** Not enough bytes for a whole frame: the end, or a tail that is still being written or was torn. */
  | { kind: 'short' }
  | { kind: 'damaged' };

export function decodeFrame(bytes: Buffer, offset: number): DecodedFrame {
  if (offset + HEADER_BYTES > bytes.length) return { kind: 'short' };
  const length = bytes.readUInt32LE(offset);
  if (length === 0 || length > MAX_PAYLOAD_BYTES) return { kind: 'damaged' };
  const start = offset + HEADER_BYTES;
  const nextOffset = start + length;
  if (nextOffset > bytes.length) return { kind: 'short' };
  if (crc32(bytes.subarray(start, nextOffset)) !== bytes.readUInt32LE(offset + 4)) return { kind: 'damaged' };
  const kind = KINDS.get(bytes[start]!);
  if (kind === undefined) return { kind: 'damaged' };
  return { kind: 'entry', entry: { kind, json: bytes.toString('utf8', start + 1, nextOffset) }, nextOffset };
}
