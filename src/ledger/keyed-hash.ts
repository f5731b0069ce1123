import { hash, KeyObject } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
/** Longer messages get a buffer of their own. */
const SCRATCH_BYTES = 64 * 1024;

const scratch = Buffer.alloc(SCRATCH_BYTES);

/** Of the parts one after the other, hexadecimal. Texts are taken as latin1, a byte a character. */
export type KeyedHash = (...parts: ReadonlyArray<string | Buffer>) => string;

/**
 * HMAC-SHA-256 under one key. Every request is hashed with one, twice: two plain hashes over prepared pads take
 * a third of the time of an `Hmac` object, and leave none behind to be collected.
 */
export function openKeyedHash(secret: string | Buffer | KeyObject): KeyedHash {
  const bytes = secret instanceof KeyObject ? secret.export() : Buffer.from(secret);
  const key = bytes.length > BLOCK_BYTES ? hash('sha256', bytes, 'buffer') : bytes;
  const inner = Buffer.alloc(BLOCK_BYTES, INNER_PAD);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, OUTER_PAD);
  for (let index = 0; index < key.length; index += 1) {
    inner[index]! ^= key[index]!;
    outer[index]! ^= key[index]!;
  }
  return (...parts) => {
    let length = BLOCK_BYTES;
    for (const part of parts) length += part.length;
    const message = length <= SCRATCH_BYTES ? scratch : Buffer.alloc(length);
    inner.copy(message);
    let at = BLOCK_BYTES;
    for (const part of parts) {
      if (typeof part === 'string') message.write(part, at, 'latin1');
      else part.copy(message, at);
      at += part.length;
    }
    outer.write(hash('sha256', message.subarray(0, length), 'binary'), BLOCK_BYTES, 'latin1');
    return hash('sha256', outer, 'hex');
  };
}
