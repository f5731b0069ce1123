import { createHmac, createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openKeyedHash } from './keyed-hash.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));

test('a keyed hash is HMAC-SHA-256 of its parts, for keys and messages of any length', () => {
  fc.assert(
    fc.property(bytes(200), fc.array(bytes(300), { maxLength: 4 }), (key, parts) => {
      const expected = createHmac('sha256', key).update(Buffer.concat(parts)).digest('hex');
      expect(openKeyedHash(key)(...parts)).toBe(expected);
      if (key.length > 0) expect(openKeyedHash(createSecretKey(key))(...parts)).toBe(expected);
      const texts = parts.map((part) => part.toString('latin1'));
      expect(openKeyedHash(key)(...texts)).toBe(expected);
    }),
  );
});

test('messages longer than the scratch buffer, and shorter ones after them, are hashed alike', () => {
  const keyed = openKeyedHash('secret');
  for (const length of [64 * 1024 - 65, 64 * 1024 - 64, 64 * 1024 - 63, 200_000, 0, 7]) {
    const message = Buffer.alloc(length, 'abc');
    expect(keyed(message)).toBe(createHmac('sha256', 'secret').update(message).digest('hex'));
  }
});
