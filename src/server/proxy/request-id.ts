import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 10 * 1024;
const RANDOM_BYTES = 10;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** A UUIDv7 of this instant. Made for every request, so randomness is drawn for a thousand of them at a time. */
export function makeRequestId(atMs: number): string {
  if (used + RANDOM_BYTES > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const time = atMs.toString(16).padStart(12, '0');
  const at = used;
  used += RANDOM_BYTES;
  const byte = (offset: number) => HEX[pool[at + offset]!]!;
  const version = HEX[(pool[at]! & 0x0f) | 0x70]!;
  const variant = HEX[(pool[at + 2]! & 0x3f) | 0x80]!;
  return (
    `${time.slice(0, 8)}-${time.slice(8)}-${version}${byte(1)}-${variant}${byte(3)}-` +
    `${byte(4)}${byte(5)}${byte(6)}${byte(7)}${byte(8)}${byte(9)}`
  );
}
