import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalRecord,
  chainRecords,
  emptyChain,
  GENESIS_HASH,
  hierarchyPath,
  type LedgerDraft,
  recordHash,
  signHash,
  signHead,
} from './chain.ts';

type Hashed = Parameters<typeof canonicalRecord>[0];
interface Vector {
  name: string;
  record: Hashed;
  canonical: string;
  record_hash: string;
  hmac_signature: string;
}
const VECTORS = JSON.parse(
  readFileSync(new URL('../../test/vectors/ledger-v1.json', import.meta.url), 'utf8'),
) as { encoding_version: string; hmac_secret: string; vectors: Vector[] };

/** A second implementation from the written rules alone: fixed order, escapes by hand, no JSON.stringify. */
function encodeByHand(record: Hashed): string {
  const text = (value: string): string => {
    let out = '"';
    for (const character of value) {
      const code = character.codePointAt(0)!;
      const short = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 34: '\\"', 92: '\\\\' }[code];
      if (short !== undefined) out += short;
      else if (code < 0x20) out += `\\u00${code < 16 ? '0' : ''}${code.toString(16)}`;
      else if (code >= 0xd800 && code <= 0xdfff) out += '\u{fffd}';
      else out += character;
    }
    return `${out}"`;
  };
  const whole = (value: number): string => `"${BigInt(value)}"`;
  return (
    `{"cost_microdollars":${whole(record.cost_microdollars)},"created_at":${text(record.created_at)}` +
    `,"hierarchy_path":${text(record.hierarchy_path)},"id":${text(record.id)},"kind":${text(record.kind)}` +
    `,"model_id":${text(record.model_id)},"previous_hash":${text(record.previous_hash)}` +
    `,"provider":${text(record.provider)},"request_id":${text(record.request_id)}` +
    `,"sequence_number":${whole(record.sequence_number)},"tenant_id":${text(record.tenant_id)}` +
    `,"tokens_input":${whole(record.tokens_input)},"tokens_output":${whole(record.tokens_output)},"v":"1"}`
  );
}

const DRAFT: LedgerDraft = {
  id: 'record-1',
  kind: 'request',
  request_id: 'request-1',
  provider: 'prov_a',
  model_id: 'gpt-4o-mini',
  tokens_input: 218,
  tokens_output: 13,
  cost_microdollars: 41,
  hierarchy_path: '/platform/checkout',
  created_at: '2026-11-15T02:33:00.000Z',
};

describe('the published vectors', () => {
  it('are version 1 and at least forty', () => {
    expect(VECTORS.encoding_version).toBe('1');
    expect(VECTORS.vectors.length).toBeGreaterThanOrEqual(40);
  });

  it.each(VECTORS.vectors.map((vector) => [vector.name, vector] as const))('hold: %s', (_name, vector) => {
    expect(canonicalRecord(vector.record)).toBe(vector.canonical);
    expect(recordHash(vector.record)).toBe(vector.record_hash);
    expect(signHash(vector.record_hash, VECTORS.hmac_secret)).toBe(vector.hmac_signature);
    expect(encodeByHand(vector.record)).toBe(vector.canonical);
    expect(createHash('sha256').update(encodeByHand(vector.record)).digest('hex')).toBe(vector.record_hash);
  });
});

describe('the canonical encoding', () => {
  const anyText = fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  });
  const records = fc.record({
    tenant_id: anyText,
    id: anyText,
    sequence_number: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    kind: fc.constantFrom('request' as const, 'correction' as const),
    request_id: anyText,
    provider: anyText,
    model_id: anyText,
    tokens_input: fc.maxSafeNat(),
    tokens_output: fc.maxSafeNat(),
    cost_microdollars: fc.maxSafeInteger(),
    hierarchy_path: anyText,
    created_at: fc.constant('2026-11-15T02:33:00.000Z'),
    previous_hash: anyText,
  });

  it('is the same by a second implementation, lone surrogates and all', () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(canonicalRecord(record)).toBe(encodeByHand(record));
      }),
    );
  });

  it('is JSON that reads back to the fields, with sorted keys', () => {
    fc.assert(
      fc.property(records, (record) => {
        const parsed = JSON.parse(canonicalRecord(record)) as Record<string, string>;
        expect(Object.keys(parsed)).toEqual(Object.keys(parsed).sort());
        expect(parsed.cost_microdollars).toBe(String(record.cost_microdollars));
        expect(Object.keys(parsed)).toHaveLength(14);
      }),
    );
  });

  it.each([
    ['a fraction', { tokens_input: 0.5 }],
    ['NaN', { cost_microdollars: Number.NaN }],
    ['an unsafe integer', { cost_microdollars: 2 ** 53 }],
    ['a time without milliseconds', { created_at: '2026-11-15T02:33:00Z' }],
    ['a time with microseconds', { created_at: '2026-11-15T02:33:00.000000Z' }],
    ['a local time', { created_at: '2026-11-15T02:33:00.000+01:00' }],
  ])('refuses %s: a record without one form must not enter the ledger', (_what, change) => {
    expect(() => chainRecords(emptyChain('tenant'), [{ ...DRAFT, ...change }], 'secret')).toThrow(RangeError);
  });
});

describe('chainRecords', () => {
  it('numbers from 1 without a gap and links each record to the one before', () => {
    const first = chainRecords(emptyChain('tenant'), [DRAFT, DRAFT], 'secret');
    const second = chainRecords(first.head, [DRAFT], 'secret');
    const records = [...first.records, ...second.records];
    expect(records.map((record) => record.sequence_number)).toEqual([1, 2, 3]);
    expect(records.map((record) => record.previous_hash)).toEqual([
      GENESIS_HASH,
      records[0]!.record_hash,
      records[1]!.record_hash,
    ]);
    expect(second.head).toEqual({
      tenant_id: 'tenant',
      sequence_number: 3,
      record_hash: records[2]!.record_hash,
    });
    for (const record of records) {
      expect(record.hmac_signature).toBe(
        createHmac('sha256', 'secret').update(record.record_hash).digest('hex'),
      );
    }
  });

  it('leaves the head where it is when there is nothing to add', () => {
    expect(chainRecords(emptyChain('tenant'), [], 'secret')).toEqual({
      records: [],
      head: emptyChain('tenant'),
    });
  });

  it('returns the texts as PostgreSQL will store them, hashed as they will be read', () => {
    const { records } = chainRecords(emptyChain('tenant'), [{ ...DRAFT, model_id: 'a\0b\ud800c' }], 'secret');
    const record = records[0]!;
    expect(record.model_id).toBe('ab\u{fffd}c');
    expect(recordHash(record)).toBe(record.record_hash);
  });
});

describe('signHead', () => {
  it('signs the tenant, the number and the hash of the last record, each of them', () => {
    const head = { tenant_id: 'tenant', sequence_number: 3, record_hash: GENESIS_HASH };
    const others = [{ tenant_id: 'other' }, { sequence_number: 2 }, { record_hash: '1'.repeat(64) }];
    const signatures = [{}, ...others].map((change) => signHead({ ...head, ...change }, 'secret'));
    expect(new Set([...signatures, signHead(head, 'other secret')]).size).toBe(5);
    expect(signHead({ ...head }, 'secret')).toBe(signatures[0]);
  });
});

describe('hierarchyPath', () => {
  it.each([
    ['platform', 'checkout', '/platform/checkout'],
    [null, null, '/-/-'],
    ['', 'x', '/-/x'],
    ['-', 'x', '/%2D/x'],
    ['a/b', 'c%d', '/a%2Fb/c%25d'],
    ['größe', '🚀', '/größe/🚀'],
  ])('of %s and %s is %s', (team, service, path) => {
    expect(hierarchyPath(team, service)).toBe(path);
  });

  it('is different for different names', () => {
    const names = fc.option(
      fc.string({ minLength: 1, unit: fc.constantFrom('-', '/', '%', '2', 'D', 'F', 'a') }),
    );
    fc.assert(
      fc.property(names, names, names, names, (a, b, c, d) => {
        expect(hierarchyPath(a, b) === hierarchyPath(c, d)).toBe(a === c && b === d);
      }),
    );
  });
});
