import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { API_KEY_ENVIRONMENTS, makeApiKey, parseApiKey } from './api-keys.ts';

const environments = fc.constantFrom(...API_KEY_ENVIRONMENTS);
const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('API keys', () => {
  it('are read back with their environment, 13-character prefix and SHA-256', () => {
    fc.assert(
      fc.property(environments, seeds, (environment, seed) => {
        const key = makeApiKey(environment, seed);
        expect(key).toMatch(/^gw_(live|test)_[0-9A-Za-z]{49}$/);
        expect(key.startsWith(environment === 'production' ? 'gw_live_' : 'gw_test_')).toBe(true);
        expect(parseApiKey(key)).toEqual({
          environment,
          prefix: key.slice(0, 13),
          hash: createHash('sha256').update(key).digest(),
        });
      }),
    );
  });

  it('carry the base62 CRC-32 of everything before it, so that anyone can check one', () => {
    const key = makeApiKey('production', randomBytes(32));
    let sum = crc32(key.slice(0, -6));
    let text = '';
    for (let place = 0; place < 6; place++) {
      text = BASE62[sum % 62]! + text;
      sum = Math.floor(sum / 62);
    }
    expect(key.slice(-6)).toBe(text);
  });

  it('keep all 256 bits: two seeds never make one key', () => {
    fc.assert(
      fc.property(seeds, seeds, (one, other) => {
        expect(makeApiKey('test', one) === makeApiKey('test', other)).toBe(one.equals(other));
      }),
    );
    expect(makeApiKey('test', Buffer.alloc(32, 0))).toHaveLength(57);
    expect(makeApiKey('test', Buffer.alloc(32, 255))).toHaveLength(57);
  });

  it('are refused after any single changed character', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.nat({ max: 56 }),
        fc.constantFrom(...BASE62, '_', ' ', 'é'),
        (seed, at, character) => {
          const key = makeApiKey('production', seed);
          fc.pre(key[at] !== character);
          expect(parseApiKey(key.slice(0, at) + character + key.slice(at + 1))).toBeNull();
        },
      ),
      { numRuns: 500 },
    );
  });

  it('are refused when cut, extended, padded, or not a key at all', () => {
    const key = makeApiKey('production', Buffer.alloc(32, 7));
    const others = [
      '',
      'gw_',
      'gw_live_',
      `${key}0`,
      key.slice(0, -1),
      ` ${key}`,
      `${key}\n`,
      key.toUpperCase(),
    ];
    for (const text of [
      ...others,
      key.replace('live', 'test'),
      'sk-proj-0123456789',
      'x'.repeat(1_000_000),
    ]) {
      expect(parseApiKey(text)).toBeNull();
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseApiKey(text)).toBeNull();
      }),
    );
  });

  it('cannot be made from too little randomness', () => {
    expect(() => makeApiKey('test', Buffer.alloc(31))).toThrow(RangeError);
  });
});
