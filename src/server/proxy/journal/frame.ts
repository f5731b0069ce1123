import { crc32 } from 'node:zlib';
import type { AdmittedRequest, RequestRecord } from '../../domain/request-record.ts';

/**
 * One entry on disk: length and checksum of what follows, one byte that says what it is, and its JSON. A length
 * that runs past the file or a checksum that does not match ends the readable part of a segment.
 */
const HEADER_BYTES = 8;
export const MAX_PAYLOAD_BYTES = 1024 * 1024;

const BEGIN = 0x62;
const END = 0x65;
const VOID = 0x76;
const SEAL = 0x73;

/** As read back: the text of the JSON is left as it is until somebody needs what is in it. */
export type JournalEntry =
  /** A request was let through. */
  | { kind: 'begin'; json: string }
  /** It ended, and this is its record. */
  | { kind: 'end'; json: string }
  /** It was taken back before anybody heard of it: a begin entry of this id, wherever it got to, means nothing. */
  | { kind: 'void'; json: string }
  /** Last entry of a segment that was closed in order: everything before it must be readable. */
  | { kind: 'seal' };

export function encodeBegin(request: AdmittedRequest): Buffer {
  return encode(BEGIN, JSON.stringify(request));
}

export function encodeEnd(record: RequestRecord): Buffer {
  return encode(END, JSON.stringify(record));
}

export function encodeVoid(id: string): Buffer {
  return encode(VOID, JSON.stringify({ id }));
}

export const SEAL_FRAME = encode(SEAL, '');

function encode(kind: number, json: string): Buffer {
  const length = 1 + Buffer.byteLength(json);
  if (length > MAX_PAYLOAD_BYTES) throw new Error('journal entry too large');
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame[HEADER_BYTES] = kind;
  frame.write(json, HEADER_BYTES + 1);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(crc32(frame.subarray(HEADER_BYTES)), 4);
  return frame;
}

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
  const entry = entryOf(bytes[start]!, bytes.toString('utf8', start + 1, nextOffset));
  return entry ? { kind: 'entry', entry, nextOffset } : { kind: 'damaged' };
}

function entryOf(kind: number, json: string): JournalEntry | null {
  if (kind === BEGIN) return { kind: 'begin', json };
  if (kind === END) return { kind: 'end', json };
  if (kind === VOID) return { kind: 'void', json };
  return kind === SEAL ? { kind: 'seal' } : null;
}
