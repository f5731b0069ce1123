import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openDecoder, readableEncodings } from './decode.ts';

describe('the encodings asked of an upstream', () => {
  test.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['zstd', 'identity'],
    ['*', 'identity'],
    ['gzip, deflate, br, zstd', 'gzip, deflate, br'],
    ['GZIP;q=0.5,zstd;q=1.0, br;q=0', 'GZIP;q=0.5, br;q=0'],
    ['identity', 'identity'],
  ])('%j becomes %j', (offered, asked) => {
    expect(readableEncodings(offered)).toBe(asked);
  });
});

describe('a decompression bomb', () => {
  const zeros = Buffer.alloc(257 * 1024 * 1024);

  test.each([
    ['gzip', gzipSync(zeros, { level: 1 })],
    ['br', brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ])('in %s is read up to a bound and no further', async (encoding, bomb) => {
    let bytesRead = 0;
    const decoder = openDecoder(encoding, (bytes) => {
      bytesRead += bytes.length;
    });
    decoder?.push(bomb);
    expect(await decoder?.finish()).toBe('the unpacked response is too large to read');
    expect(bytesRead).toBeLessThanOrEqual(256 * 1024 * 1024);
  });
});

test('what was unpacked before a fault is handed on', async () => {
  const pieces: Buffer[] = [];
  const decoder = openDecoder('gzip', (bytes) => pieces.push(bytes));
  decoder?.push(gzipSync('hello'));
  decoder?.push(Buffer.from('no gzip'));
  expect(await decoder?.finish()).toBe('the response could not be unpacked');
  decoder?.push(Buffer.from('ignored'));
  expect(Buffer.concat(pieces).toString()).toBe('hello');
});

test('an empty body finishes at once', async () => {
  expect(await openDecoder('gzip', () => {})?.finish()).toBeNull();
});
