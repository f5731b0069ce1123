import { createHash } from 'node:crypto';

/**
 * A service key is `gw_live_` or `gw_test_`, a base62 body, and a checksum over everything before it. The
 * checksum lets a mistyped or made-up key be refused without asking the store, so a flood of junk keys
 * costs no query.
 */
export const API_KEY_ENVIRONMENTS = ['production', 'test'] as const;
export type ApiKeyEnvironment = (typeof API_KEY_ENVIRONMENTS)[number];

export const API_KEY_PREFIX_LENGTH = 13;
export const API_KEY_RANDOM_BYTES = 32;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = BigInt(ALPHABET.length);
/** 62^43 is the first power of 62 above 2^256, so every body has the same length. */
const BODY_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const KEY_SHAPE = /^gw_(live|test)_[0-9A-Za-z]{32,64}[0-9A-Za-z]{6}$/;
const KEY_ANYWHERE = /gw_(?:live|test)_[0-9A-Za-z]{32}/;

export interface ParsedApiKey {
  environment: ApiKeyEnvironment;
  /** What lists and kill switches show of the key. */
  prefix: string;
  /** SHA-256 of the whole key: the only form in which it is kept. */
  hash: Buffer;
}

export function makeApiKey(environment: ApiKeyEnvironment, randomBytes: Buffer): string {
  if (randomBytes.length < API_KEY_RANDOM_BYTES) {
    throw new RangeError(`an API key needs ${API_KEY_RANDOM_BYTES} random bytes`);
  }
  const seed = BigInt(`0x${randomBytes.subarray(0, API_KEY_RANDOM_BYTES).toString('hex')}`);
  const name = environment === 'production' ? 'live' : 'test';
  const text = `gw_${name}_${base62(seed, BODY_LENGTH)}`;
  return text + checksumOf(text);
}

/** Null for anything that is not a key this program could have made. */
export function parseApiKey(text: string): ParsedApiKey | null {
  const shape = KEY_SHAPE.exec(text);
  if (!shape) return null;
  const bodyEnd = text.length - CHECKSUM_LENGTH;
  if (checksumOf(text.slice(0, bodyEnd)) !== text.slice(bodyEnd)) return null;
  return {
    environment: shape[1] === 'live' ? 'production' : 'test',
    prefix: text.slice(0, API_KEY_PREFIX_LENGTH),
    hash: createHash('sha256').update(text, 'latin1').digest(),
  };
}

/** Whether a text holds something that may be a key, whosever it is. */
export function mentionsApiKey(text: string): boolean {
  return KEY_ANYWHERE.test(text);
}

function checksumOf(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_LENGTH);
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  while (rest > 0n) {
    text = ALPHABET[Number(rest % BASE)]! + text;
    rest /= BASE;
  }
  return text.padStart(length, '0');
}

/** The reflected IEEE polynomial, one table entry per byte. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0);
  return remainder >>> 0;
});

function crc32(asciiText: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < asciiText.length; index++) {
    crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ asciiText.charCodeAt(index)) & 0xff]!;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
