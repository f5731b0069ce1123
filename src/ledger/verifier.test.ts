import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatUsd } from '../contract/money.ts';
import {
  type ChainHead,
  chainRecords,
  emptyChain,
  LEDGER_CSV_COLUMNS,
  type LedgerDraft,
  type LedgerRecord,
  recordHash,
} from './chain.ts';
import {
  type ChainVerdict,
  type ChainVerifierOptions,
  ledgerRecordFromCsv,
  verifyChain,
} from './verifier.ts';

const SECRET = 'a deployment secret of some length';
const LENGTH = 20;

function makeChain(tenantId: string, length = LENGTH): { records: LedgerRecord[]; head: ChainHead } {
  const drafts = Array.from(
    { length },
    (_, index): LedgerDraft => ({
      id: `${tenantId}-record-${index}`,
      kind: index % 7 === 6 ? 'correction' : 'request',
      request_id: `request-${index}`,
      provider: 'prov_a',
      model_id: 'gpt-4o-mini',
      tokens_input: 100 + index,
      tokens_output: index,
      cost_microdollars: index % 7 === 6 ? -index : index * 3,
      hierarchy_path: '/platform/checkout',
      created_at: '2026-11-15T02:33:00.000Z',
    }),
  );
  return chainRecords(emptyChain(tenantId), drafts, SECRET);
}
const { records: CHAIN, head: HEAD } = makeChain('tenant-a');
const FOREIGN = makeChain('tenant-b').records;

function verify(
  records: readonly LedgerRecord[],
  options: ChainVerifierOptions = { fromSequence: 1 },
  head?: ChainHead,
): ChainVerdict {
  const verifier = verifyChain(options);
  for (const record of records) verifier.push(record);
  if (head) verifier.checkHead(head);
  return verifier.verdict();
}
const place = fc.nat({ max: LENGTH - 1 });

describe('a chain as it was written', () => {
  it('is valid, whole, with its head and its signatures', () => {
    const verdict = verify(CHAIN, { fromSequence: 1, tenantId: 'tenant-a', secret: SECRET }, HEAD);
    expect(verdict).toEqual({ valid: true, records_checked: LENGTH, first_seq: 1, last_seq: LENGTH });
  });

  it('is valid in any part of it, with or without the hash before', () => {
    fc.assert(
      fc.property(place, place, (a, b) => {
        const [from, to] = a < b ? [a, b] : [b, a];
        const part = CHAIN.slice(from, to + 1);
        const before = from === 0 ? {} : { previousHash: CHAIN[from - 1]!.record_hash };
        expect(verify(part, { fromSequence: from + 1, ...before }).valid).toBe(true);
        expect(verify(part, {})).toMatchObject({ valid: true, first_seq: from + 1, last_seq: to + 1 });
      }),
    );
  });

  it('is valid when it is empty', () => {
    const verdict = verify([], { fromSequence: 1 }, emptyChain('tenant-a'));
    expect(verdict).toEqual({ valid: true, records_checked: 0, first_seq: null, last_seq: null });
  });
});

describe('the verifier finds, at its sequence number,', () => {
  const fields = Object.keys(CHAIN[0]!) as (keyof LedgerRecord)[];

  it('a change to any character of any field of any record', () => {
    fc.assert(
      fc.property(
        place,
        fc.constantFrom(...fields),
        fc.nat(),
        fc.nat({ max: 0xff }),
        (at, field, position, code) => {
          const record = CHAIN[at]!;
          const value = record[field];
          let changed: string | number;
          if (typeof value === 'number') changed = value + 1 + code;
          else {
            const index = position % value.length;
            changed = value.slice(0, index) + String.fromCharCode(code) + value.slice(index + 1);
          }
          fc.pre(changed !== value);
          const tampered = [...CHAIN];
          tampered[at] = { ...record, [field]: changed } as LedgerRecord;
          const verdict = verify(tampered, { fromSequence: 1, secret: SECRET });
          expect(verdict).toMatchObject({
            valid: false,
            first_invalid_sequence: at + 1,
            records_checked: at,
          });
          expect(verdict.reason).toBeTruthy();
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('a removed record', () => {
    fc.assert(
      fc.property(fc.nat({ max: LENGTH - 2 }), (at) => {
        expect(verify(CHAIN.toSpliced(at, 1))).toMatchObject({
          valid: false,
          first_invalid_sequence: at + 1,
        });
      }),
    );
  });

  it('a record removed and the rest renumbered', () => {
    fc.assert(
      fc.property(fc.nat({ max: LENGTH - 2 }), (at) => {
        const rest = CHAIN.toSpliced(at, 1).map((record, index) => ({
          ...record,
          sequence_number: index + 1,
        }));
        expect(verify(rest)).toMatchObject({ valid: false, first_invalid_sequence: at + 1 });
      }),
    );
  });

  it('a record repeated', () => {
    fc.assert(
      fc.property(place, (at) => {
        const verdict = verify(CHAIN.toSpliced(at, 0, CHAIN[at]!));
        expect(verdict).toMatchObject({ valid: false, first_invalid_sequence: at + 1 });
      }),
    );
  });

  it('a record inserted with a hash made to fit, at the record it pushes out', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: LENGTH - 1 }), (at) => {
        const previous = CHAIN[at - 1]!;
        const content = {
          ...CHAIN[at]!,
          id: 'forged',
          cost_microdollars: 0,
          previous_hash: previous.record_hash,
        };
        const forged = {
          ...content,
          record_hash: recordHash({ ...content, previous_hash: previous.record_hash }),
        };
        expect(verify(CHAIN.toSpliced(at, 0, forged))).toMatchObject({
          valid: false,
          first_invalid_sequence: at + 1,
        });
        const signed = verify(CHAIN.toSpliced(at, 0, forged), { fromSequence: 1, secret: SECRET });
        expect(signed).toMatchObject({ valid: false, first_invalid_sequence: at + 1 });
      }),
    );
  });

  it('a record changed with its hash made anew, at the record that still names the old hash', () => {
    fc.assert(
      fc.property(fc.nat({ max: LENGTH - 2 }), (at) => {
        const content = { ...CHAIN[at]!, cost_microdollars: 1_000_000 };
        const forged = { ...content, record_hash: recordHash(content) };
        expect(verify(CHAIN.with(at, forged))).toMatchObject({
          valid: false,
          first_invalid_sequence: at + 2,
        });
      }),
    );
  });

  it('a range that does not follow the hash before it, or a first record that follows anything', () => {
    expect(verify(CHAIN.slice(5), { fromSequence: 6, previousHash: CHAIN[3]!.record_hash })).toMatchObject({
      valid: false,
      first_invalid_sequence: 6,
    });
    const content = { ...CHAIN[0]!, previous_hash: CHAIN[4]!.record_hash };
    const first = { ...content, record_hash: recordHash(content) };
    expect(verify([first], {})).toMatchObject({ valid: false, first_invalid_sequence: 1 });
  });

  it('two records swapped, as rows or as numbers', () => {
    fc.assert(
      fc.property(place, place, (a, b) => {
        fc.pre(a < b);
        const swapped = CHAIN.with(a, CHAIN[b]!).with(b, CHAIN[a]!);
        expect(verify(swapped)).toMatchObject({ valid: false, first_invalid_sequence: a + 1 });
        const renumbered = swapped.map((record, index) => ({ ...record, sequence_number: index + 1 }));
        expect(verify(renumbered)).toMatchObject({ valid: false, first_invalid_sequence: a + 1 });
      }),
    );
  });

  it('a record of another tenant, even the first one, even with the tenant rewritten', () => {
    fc.assert(
      fc.property(place, (at) => {
        const options = { fromSequence: 1, tenantId: 'tenant-a' };
        const failed = { valid: false, first_invalid_sequence: at + 1 };
        expect(verify(CHAIN.with(at, FOREIGN[at]!), options)).toMatchObject(failed);
        expect(verify(CHAIN.with(at, { ...FOREIGN[at]!, tenant_id: 'tenant-a' }), options)).toMatchObject(
          failed,
        );
      }),
    );
    expect(verify(FOREIGN, { tenantId: 'tenant-a' })).toMatchObject({
      valid: false,
      first_invalid_sequence: 1,
    });
  });

  it('a truncated tail, by the head kept apart', () => {
    fc.assert(
      fc.property(place, (kept) => {
        const verdict = verify(CHAIN.slice(0, kept), { fromSequence: 1 }, HEAD);
        expect(verdict).toMatchObject({
          valid: false,
          first_invalid_sequence: kept + 1,
          records_checked: kept,
        });
      }),
    );
  });

  it('a tail replaced by another of the same length, or grown past the head', () => {
    const tail = chainRecords(
      { tenant_id: 'tenant-a', sequence_number: LENGTH - 1, record_hash: CHAIN[LENGTH - 2]!.record_hash },
      [{ ...CHAIN[LENGTH - 1]!, cost_microdollars: 0 }],
      SECRET,
    );
    expect(verify(CHAIN.with(LENGTH - 1, tail.records[0]!), { fromSequence: 1 }, HEAD)).toMatchObject({
      valid: false,
      first_invalid_sequence: LENGTH,
    });
    const more = chainRecords(HEAD, [CHAIN[0]!], SECRET).records;
    expect(verify([...CHAIN, ...more], { fromSequence: 1 }, HEAD)).toMatchObject({
      valid: false,
      first_invalid_sequence: LENGTH + 1,
    });
  });

  it('a whole chain made anew by someone without the secret', () => {
    const rewritten = chainRecords(emptyChain('tenant-a'), CHAIN, 'not the secret').records;
    expect(verify(rewritten).valid).toBe(true);
    expect(verify(rewritten, { fromSequence: 1, secret: SECRET })).toMatchObject({
      valid: false,
      first_invalid_sequence: 1,
    });
  });

  it('the first failure only, and goes on saying so', () => {
    const verifier = verifyChain({ fromSequence: 1 });
    const first = verifier.push({ ...CHAIN[0]!, tokens_input: 9 });
    expect(first?.sequence_number).toBe(1);
    expect(verifier.push(CHAIN[1]!)).toBe(first);
    expect(verifier.checkHead(HEAD)).toBe(first);
  });
});

describe('a row of the CSV export', () => {
  const DANGEROUS = /^[=+\-@\t\r]/;
  function cellsOf(record: LedgerRecord): Record<string, string> {
    const values = { ...record, cost_usd: formatUsd(record.cost_microdollars) };
    return Object.fromEntries(
      LEDGER_CSV_COLUMNS.map((column) => {
        const value = values[column];
        return [
          column,
          typeof value === 'string' && column !== 'cost_usd' && DANGEROUS.test(value)
            ? `'${value}`
            : String(value),
        ];
      }),
    );
  }
  function verifyCells(rows: readonly Record<string, string>[]): ChainVerdict {
    const verifier = verifyChain({ fromSequence: 1 });
    rows.forEach((cells, index) => {
      const record = ledgerRecordFromCsv(cells, index + 1);
      if ('reason' in record) verifier.fail(record);
      else verifier.push(record);
    });
    return verifier.verdict();
  }
  const rows = CHAIN.map(cellsOf);

  it('is enough to verify the chain, with no secret at hand', () => {
    expect(rows.map((cells, index) => ledgerRecordFromCsv(cells, index + 1))).toEqual(CHAIN);
    expect(verifyCells(rows)).toMatchObject({ valid: true, records_checked: LENGTH });
  });

  it('gives back a model id that was protected from spreadsheets, or only looks as if it were', () => {
    const ids = ['=1+1', '+x', '-x', '@x', '\tx', '\rx', "'=1+1", "''=1", "'x", "'", '-', ''];
    const drafts = ids.map((model_id): LedgerDraft => ({ ...CHAIN[0]!, model_id }));
    const { records } = chainRecords(emptyChain('tenant-a'), drafts, SECRET);
    const read = records.map((record, index) => ledgerRecordFromCsv(cellsOf(record), index + 1));
    expect(read).toEqual(records);
    expect(verifyCells(records.map(cellsOf)).valid).toBe(true);
  });

  it('accepts negative amounts with and without that protection', () => {
    const cells = {
      ...rows[6]!,
      cost_microdollars: `'${rows[6]!.cost_microdollars}`,
      cost_usd: `'${rows[6]!.cost_usd}`,
    };
    expect(ledgerRecordFromCsv(cells, 7)).toEqual(CHAIN[6]);
  });

  it('shows any change to any cell but the signature, which only the secret can check', () => {
    const columns = LEDGER_CSV_COLUMNS.filter((column) => column !== 'hmac_signature');
    fc.assert(
      fc.property(
        place,
        fc.constantFrom(...columns),
        fc.nat(),
        fc.integer({ min: 32, max: 126 }),
        (at, column, position, code) => {
          const value = rows[at]![column]!;
          const index = position % value.length;
          const changed = value.slice(0, index) + String.fromCharCode(code) + value.slice(index + 1);
          fc.pre(changed !== value);
          expect(verifyCells(rows.with(at, { ...rows[at]!, [column]: changed })).valid).toBe(false);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['sequence_number', '01'],
    ['sequence_number', 'x'],
    ['tokens_input', '1e3'],
    ['tokens_output', '9007199254740993'],
    ['cost_microdollars', '-0'],
    ['cost_usd', '1.000000'],
    ['kind', 'gift'],
    ['hmac_signature', 'zz'],
  ])('is refused for %s %s', (column, cell) => {
    expect(ledgerRecordFromCsv({ ...rows[1]!, [column]: cell }, 2)).toMatchObject({
      sequence_number: 2,
      reason: expect.stringContaining(column === 'hmac_signature' ? 'hmac' : column),
    });
  });

  it('is refused by name of the column when one is missing', () => {
    const { tenant_id: _missing, ...cells } = rows[0]!;
    expect(ledgerRecordFromCsv(cells, 1)).toMatchObject({ reason: 'the column tenant_id is missing' });
  });
});
