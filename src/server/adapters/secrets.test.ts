import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadSecrets, type Secrets } from './secrets.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-secrets-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

async function load(given: Partial<Secrets> = {}): Promise<Secrets> {
  const reading = await loadSecrets(dataDir, given);
  if (reading.kind === 'refused') throw new Error(reading.message);
  return reading.secrets;
}

test('secrets not given are made once, strong and private, and found again', async () => {
  const first = await load();
  expect(first.masterKey).toHaveLength(32);
  expect(new Set([first.jwtSecret, first.ledgerSecret, first.operatorToken]).size).toBe(3);
  for (const secret of [first.jwtSecret, first.ledgerSecret, first.operatorToken])
    expect(secret).toMatch(/^[\da-f]{64}$/);
  expect(statSync(join(dataDir, 'secrets.json')).mode & 0o777).toBe(0o600);
  expect(readdirSync(dataDir)).toEqual(['secrets.json']);
  expect(await load()).toEqual(first);
});

test('a given secret wins and is not written down', async () => {
  const given = { jwtSecret: 'given-'.repeat(8) };
  const first = await load(given);
  expect(first.jwtSecret).toBe(given.jwtSecret);
  expect(readFileSync(join(dataDir, 'secrets.json'), 'utf8')).not.toContain(given.jwtSecret);
  expect(await load(given)).toEqual(first);
});

test('a secret that was given at first and is missing later is refused, not made up', async () => {
  await load({ masterKey: Buffer.alloc(32, 1) });
  const reading = await loadSecrets(dataDir, {});
  expect(reading).toMatchObject({ kind: 'refused', message: expect.stringContaining('GATEWAY_MASTER_KEY') });
});

test.each([
  ['cut short', (text: string) => text.slice(0, 40)],
  ['empty', () => ''],
  ['not an object', () => 'null'],
  [
    'without one of its secrets',
    (text: string) => JSON.stringify({ ...JSON.parse(text), jwtSecret: undefined }),
  ],
  ['with a short secret', (text: string) => JSON.stringify({ ...JSON.parse(text), operatorToken: 'x' })],
  [
    'with a master key of the wrong length',
    (text: string) => JSON.stringify({ ...JSON.parse(text), masterKey: 'A'.repeat(60) }),
  ],
])('a file %s is refused and left as it is', async (_, damage) => {
  await load();
  const file = join(dataDir, 'secrets.json');
  const damaged = damage(readFileSync(file, 'utf8'));
  writeFileSync(file, damaged);
  expect(await loadSecrets(dataDir, {})).toMatchObject({
    kind: 'refused',
    message: expect.stringContaining(file),
  });
  expect(readFileSync(file, 'utf8')).toBe(damaged);
});

test('a file left readable to others is made private again', async () => {
  await load();
  const file = join(dataDir, 'secrets.json');
  chmodSync(file, 0o644);
  await load();
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
