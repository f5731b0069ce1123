import { describe, expect, it } from 'vitest';
import { hashPassword, verifyPassword } from './passwords.ts';

async function hashOf(password: string): Promise<string> {
  const hashed = await hashPassword(password);
  if (hashed === 'busy') throw new Error('busy');
  return hashed.hash;
}

describe('passwords', () => {
  it('match themselves and nothing else, every character of them', async () => {
    const hash = await hashOf('pässword\u0000with a tail 🔑');
    expect(await verifyPassword(hash, 'pässword\u0000with a tail 🔑')).toBe('match');
    expect(await verifyPassword(hash, 'pässword\u0000with a tail 🔒')).toBe('mismatch');
    expect(await verifyPassword(hash, 'pässword')).toBe('mismatch');
    expect(await verifyPassword(hash, '')).toBe('mismatch');
  });

  it('are stored as salted argon2id at the chosen cost', async () => {
    const hash = await hashOf('correct horse');
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await hashOf('correct horse')).not.toBe(hash);
  });

  it('never match an account that does not exist', async () => {
    expect(await verifyPassword(null, 'correct horse')).toBe('mismatch');
    expect(await verifyPassword(null, '')).toBe('mismatch');
  });

  it('are all checked when twenty come at once, and those past the bound are sent away', async () => {
    const hash = await hashOf('correct horse');
    const twenty = await Promise.all(Array.from({ length: 20 }, () => verifyPassword(hash, 'correct horse')));
    expect(twenty.every((verdict) => verdict === 'match')).toBe(true);
    const flood = await Promise.all(Array.from({ length: 100 }, () => verifyPassword(hash, 'wrong')));
    expect(flood.filter((verdict) => verdict === 'busy')).toHaveLength(100 - 64 - 2);
    expect(await verifyPassword(hash, 'correct horse')).toBe('match');
  });
});
