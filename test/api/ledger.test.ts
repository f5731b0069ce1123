import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chainRecords, LEDGER_CSV_COLUMNS } from '../../src/ledger/chain.ts';
import { ledgerRecordFromCsv, verifyChain } from '../../src/ledger/verifier.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { recordRequests } from './recorded-requests.ts';

const RECORDS = 1_200;
const FIRST_MS = Date.parse('2026-01-31T23:50:00Z');

let gw: Gateway;
let tenant: SignedUp;

const get = (path: string, token = tenant.token) => gw.call('GET', path, { token });
const verify = async (token: string, query = '') => (await get(`/v1/ledger/verify${query}`, token)).json;

/** A tenant of its own with a short chain, to be broken. */
async function chained(count = 5): Promise<SignedUp> {
  const owner = await gw.signUp();
  await recordRequests(
    gw,
    owner.tenantId,
    Array.from({ length: count }, (_, n) => ({ created_at: new Date(FIRST_MS + n).toISOString() })),
  );
  return owner;
}

/** The database refuses this to everyone; its owner can take the guard away. */
async function tamper(text: string, params: unknown[]): Promise<void> {
  await gw.sql('alter table ledger_records disable trigger user');
  await gw.sql(text, params);
  await gw.sql('alter table ledger_records enable trigger user');
}

beforeAll(async () => {
  gw = await startGateway();
  tenant = await gw.signUp();
  const requests = Array.from({ length: RECORDS }, (_, n) => ({
    // Twenty minutes around midnight; every tenth was admitted a minute before its neighbours, as long streams are.
    created_at: new Date(FIRST_MS + n * 1_000 - (n % 10 === 0 ? 60_000 : 0)).toISOString(),
    model_id: n === 3 ? '=SUM(A1)' : 'gpt-5',
    service_name: n % 2 === 0 ? 'a/b' : null,
    cost_microdollars: n,
  }));
  await recordRequests(gw, tenant.tenantId, requests);
});
afterAll(() => gw.stop());

describe('the ledger', () => {
  test('is listed newest first, page by page, without a gap', async () => {
    const seen: number[] = [];
    for (let offset = 0; offset < RECORDS; offset += 500) {
      const { json } = await get(`/v1/ledger?limit=500&offset=${offset}`);
      expect(json).toMatchObject({ total: RECORDS, limit: 500, offset });
      seen.push(...json.data.map((row: { sequence_number: number }) => row.sequence_number));
    }
    expect(seen).toEqual(Array.from({ length: RECORDS }, (_, n) => RECORDS - n));
    expect((await get(`/v1/ledger?offset=${RECORDS}`)).json).toMatchObject({ data: [], total: RECORDS });
  });

  test('shows what the specification names and no secret', async () => {
    const { json } = await get('/v1/ledger?limit=1');
    expect(Object.keys(json.data[0]).sort()).toEqual(
      [
        'cost_microdollars',
        'cost_usd',
        'created_at',
        'hierarchy_path',
        'id',
        'kind',
        'model_id',
        'provider',
        'record_hash',
        'request_id',
        'sequence_number',
        'tokens_input',
        'tokens_output',
      ].sort(),
    );
    expect(json.data[0]).toMatchObject({
      sequence_number: RECORDS,
      cost_usd: '0.001199',
      hierarchy_path: '/-/-',
    });
  });

  test('counts and lists the records of a range exactly', async () => {
    const january: number[] = [];
    let total = 0;
    for (let offset = 0; offset === 0 || offset < total; offset += 500) {
      const { json } = await get(`/v1/ledger?to=2026-01-31&limit=500&offset=${offset}`);
      total = json.total;
      january.push(...json.data.map((row: { sequence_number: number }) => row.sequence_number));
    }
    // Sequence n + 1 has n; the late ones of the first minute after midnight belong to January.
    const expected = Array.from({ length: RECORDS }, (_, n) => n)
      .filter((n) => n * 1_000 - (n % 10 === 0 ? 60_000 : 0) < 600_000)
      .map((n) => n + 1);
    expect(total).toBe(606);
    expect(january.sort((a, b) => a - b)).toEqual(expected);
    expect((await get('/v1/ledger?from=2026-02-01')).json.total).toBe(RECORDS - 606);
    expect((await get('/v1/ledger?from=2026-02-02&to=2026-02-01')).json).toMatchObject({
      data: [],
      total: 0,
    });
    expect((await get('/v1/ledger?from=2026-02-30')).json.error).toBe('invalid_field');
  });

  test('belongs to one tenant alone', async () => {
    const stranger = await gw.signUp();
    expect((await get('/v1/ledger', stranger.token)).json).toMatchObject({ data: [], total: 0 });
    expect((await get('/v1/ledger?from=2026-01-01', stranger.token)).json.total).toBe(0);
    expect((await get('/v1/ledger?format=csv', stranger.token)).text).toBe(
      `${LEDGER_CSV_COLUMNS.join(',')}\r\n`,
    );
    expect(await verify(stranger.token)).toEqual({
      valid: true,
      records_checked: 0,
      first_seq: null,
      last_seq: null,
    });
    for (const path of ['/v1/ledger', '/v1/ledger/verify']) {
      expect((await gw.call('GET', path)).json.error).toBe('missing_auth');
    }
  });
});

describe('the CSV', () => {
  async function verifyFile(query: string) {
    const { text, headers } = await get(`/v1/ledger?format=csv${query}`);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [header, ...lines] = text.trimEnd().split('\r\n');
    const columns = header!.split(',');
    const verifier = verifyChain();
    for (const [index, line] of lines.entries()) {
      const cells = Object.fromEntries(line.split(',').map((cell, n) => [columns[n]!, cell]));
      const record = ledgerRecordFromCsv(cells, index + 1);
      if ('reason' in record) throw new Error(record.reason);
      verifier.push(record);
    }
    return verifier.verdict();
  }

  test('alone is enough to verify the whole chain', async () => {
    expect(await verifyFile('')).toEqual({
      valid: true,
      records_checked: RECORDS,
      first_seq: 1,
      last_seq: RECORDS,
    });
  });

  test('of a range is a stretch without a gap, though records at its edge were admitted outside', async () => {
    // The last record admitted in January is number 651; everything up to it is there.
    expect(await verifyFile('&to=2026-01-31')).toMatchObject({ valid: true, first_seq: 1, last_seq: 651 });
    expect(await verifyFile('&from=2026-02-01')).toMatchObject({ valid: true, last_seq: RECORDS });
    const nothing = await get('/v1/ledger?format=csv&from=2027-01-01');
    expect(nothing.text).toBe(`${LEDGER_CSV_COLUMNS.join(',')}\r\n`);
  });
});

describe('verification', () => {
  test('finds an honest chain good, whole and in part', async () => {
    expect(await verify(tenant.token)).toEqual({
      valid: true,
      records_checked: RECORDS,
      first_seq: 1,
      last_seq: RECORDS,
    });
    expect(await verify(tenant.token, '?from_seq=501&to_seq=1100')).toEqual({
      valid: true,
      records_checked: 600,
      first_seq: 501,
      last_seq: 1100,
    });
    expect(await verify(tenant.token, '?from_seq=1200&to_seq=99999')).toMatchObject({
      valid: true,
      records_checked: 1,
    });
  });

  test('has nothing to check past the end or in a range turned round', async () => {
    for (const query of ['?from_seq=1201', '?from_seq=9&to_seq=8']) {
      expect(await verify(tenant.token, query)).toMatchObject({ valid: true, records_checked: 0 });
    }
  });

  test.each(['from_seq=0', 'to_seq=-1', 'from_seq=one'])('refuses %s', async (query) => {
    const { status, json } = await get(`/v1/ledger/verify?${query}`);
    expect([status, json.error]).toEqual([400, 'invalid_field']);
  });

  test.each([
    ['cost_microdollars', 'cost_microdollars + 1'],
    ['tokens_input', '0'],
    ['model_id', "'cheaper'"],
    ['created_at', "created_at + interval '1 day'"],
    ['hierarchy_path', "'/x/y'"],
    ['kind', "'correction'"],
    ['previous_hash', "repeat('0', 64)"],
    ['record_hash', "repeat('a', 64)"],
    ['hmac_signature', "repeat('a', 64)"],
  ])('finds a changed %s', async (column, value) => {
    const owner = await chained();
    await tamper(
      `update ledger_records set ${column} = ${value} where tenant_id = $1 and sequence_number = 3`,
      [owner.tenantId],
    );
    const found = await verify(owner.token);
    expect(found).toMatchObject({
      valid: false,
      records_checked: 2,
      first_seq: 1,
      last_seq: 2,
      first_invalid_sequence: 3,
    });
    expect(found.reason).toContain('3');
  });

  test('finds a record that was removed, also as the last of a range', async () => {
    const owner = await chained();
    await tamper('delete from ledger_records where tenant_id = $1 and sequence_number = 3', [owner.tenantId]);
    for (const query of ['', '?to_seq=3', '?from_seq=3&to_seq=3']) {
      expect(await verify(owner.token, query)).toMatchObject({ valid: false, first_invalid_sequence: 3 });
    }
    expect(await verify(owner.token, '?to_seq=2')).toMatchObject({ valid: true, records_checked: 2 });
  });

  test('finds a tail that was cut off, all of it too', async () => {
    const owner = await chained();
    await tamper('delete from ledger_records where tenant_id = $1 and sequence_number > 3', [owner.tenantId]);
    expect(await verify(owner.token)).toMatchObject({
      valid: false,
      records_checked: 3,
      first_invalid_sequence: 4,
    });
    await tamper('delete from ledger_records where tenant_id = $1', [owner.tenantId]);
    expect(await verify(owner.token)).toMatchObject({ valid: false, first_invalid_sequence: 1 });
  });

  test('finds a cut whose head was moved to fit', async () => {
    const owner = await chained();
    await tamper('delete from ledger_records where tenant_id = $1 and sequence_number > 3', [owner.tenantId]);
    await gw.sql(
      `update ledger_heads head set sequence_number = record.sequence_number, record_hash = record.record_hash,
              hmac_signature = record.hmac_signature
         from ledger_records record
        where head.tenant_id = $1 and record.tenant_id = $1 and record.sequence_number = 3`,
      [owner.tenantId],
    );
    const found = await verify(owner.token);
    expect(found).toMatchObject({ valid: false, records_checked: 3, first_invalid_sequence: 3 });
    expect(found.reason).toContain('signed');
  });

  test('finds records that were put in after the head', async () => {
    const owner = await chained();
    const [head] = await gw.sql<{ record_hash: string }>(
      'select record_hash from ledger_heads where tenant_id = $1',
      [owner.tenantId],
    );
    const forged = chainRecords(
      { tenant_id: owner.tenantId, sequence_number: 5, record_hash: head!.record_hash },
      [
        {
          id: '019ce000-0000-7000-8000-000000000001',
          kind: 'request',
          request_id: '019ce000-0000-7000-8000-000000000001',
          provider: 'prov_a',
          model_id: 'gpt-5',
          tokens_input: 1,
          tokens_output: 1,
          cost_microdollars: 1,
          hierarchy_path: '/-/-',
          created_at: '2026-02-01T00:00:00.000Z',
        },
      ],
      gw.secrets.GATEWAY_LEDGER_SECRET,
    );
    await gw.sql(
      'insert into ledger_records select * from json_populate_recordset(null::ledger_records, $1::json)',
      [JSON.stringify(forged.records)],
    );
    expect(await verify(owner.token)).toMatchObject({ valid: false, first_invalid_sequence: 6 });
  });

  test('finds a chain that has lost its head', async () => {
    const owner = await chained();
    await gw.sql('delete from ledger_heads where tenant_id = $1', [owner.tenantId]);
    expect(await verify(owner.token)).toMatchObject({ valid: false, first_invalid_sequence: 1 });
  });

  test('finds two records that changed places', async () => {
    const owner = await chained();
    for (const [from, to] of [
      [2, 99],
      [4, 2],
      [99, 4],
    ]) {
      await tamper(
        'update ledger_records set sequence_number = $3 where tenant_id = $1 and sequence_number = $2',
        [owner.tenantId, from, to],
      );
    }
    expect(await verify(owner.token)).toMatchObject({ valid: false, first_invalid_sequence: 2 });
  });

  test('checks the first record of a range against the one before it', async () => {
    const owner = await chained();
    await tamper(
      "update ledger_records set record_hash = repeat('b', 64) where tenant_id = $1 and sequence_number = 3",
      [owner.tenantId],
    );
    expect(await verify(owner.token, '?from_seq=4')).toMatchObject({
      valid: false,
      first_invalid_sequence: 4,
    });
    expect(await verify(owner.token, '?from_seq=5')).toMatchObject({ valid: true, records_checked: 1 });
  });
});

describe('the database', () => {
  test.each([
    'update ledger_records set cost_microdollars = 0',
    'delete from ledger_records',
    'truncate ledger_records',
  ])('refuses "%s"', async (statement) => {
    await expect(gw.sql(statement)).rejects.toThrow(/never changed or removed/);
  });
});
