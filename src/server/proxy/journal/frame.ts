import { crc32 } from 'node:zlib';
import type { AdmittedRequest, RequestRecord } from '../../domain/request-record.ts';

/**
 * One entry on disk: payload length, checksum of the payload, payload. A length that runs past the file or a
 * checksum that does not match ends the readable part of a segment.
 */
const HEADER_BYTES = 8;
export const MAX_PAYLOAD_BYTES = 1024 * 1024;

export type JournalEntry =
  | { kind: 'begin'; request: AdmittedRequest }
  | { kind: 'end'; record: RequestRecord }
  /** Last entry of a segment that was closed in order: everything before it must be readable. */
  | { kind: 'seal' };

export function encodeEntry(entry: JournalEntry): Buffer {
  const payload = Buffer.from(JSON.stringify(entry));
  if (payload.length > MAX_PAYLOAD_BYTES) throw new Error('journal entry too large');
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  frame.writeUInt32LE(payload.length, 0);
  frame.writeUInt32LE(crc32(payload), 4);
  payload.copy(frame, HEADER_BYTES);
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
  if (start + length > bytes.length) return { kind: 'short' };
  const payload = bytes.subarray(start, start + length);
  if (crc32(payload) !== bytes.readUInt32LE(offset + 4)) return { kind: 'damaged' };
  return { kind: 'entry', entry: JSON.parse(payload.toString()) as JournalEntry, nextOffset: start + length };
}
