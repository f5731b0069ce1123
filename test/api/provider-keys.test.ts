import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openVault } from '../../src/server/adapters/vault.ts';
import { type Gateway, startGateway } from '../harness.ts';

const CANARY = 'sk-canary-7f3a9b-do-not-leak';

let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway();
});
afterAll(() => gw.stop());

const store = (token: string, body: unknown, path = '/v1/provider-keys') =>
  gw.call('POST', path, { token, body });
const list = async (token: string, path = '/v1/provider-keys') =>
  (await gw.call('GET', path, { token })).json;
const vault = () => openVault(Buffer.from(gw.secrets.GATEWAY_MASTER_KEY, 'base64'));

interface SealedRow {
  id: string;
  key_sealed: Buffer;
  data_key_wrapped: Buffer;
}
const sealedRows = (tenantId: string) =>
  gw.sql<SealedRow>(
    `select k.id, key_sealed, data_key_wrapped from provider_keys k join tenants using (tenant_id)
      where tenant_id = $1 order by k.id`,
    [tenantId],
  );

describe.each(['/v1/provider-keys', '/v1/providers'])('a provider key under %s', (path) => {
  it('is stored, listed without its value, and removed', async () => {
    const { token } = await gw.signUp();
    const stored = await store(token, { provider: 'prov_a', key: CANARY }, path);
    expect(stored.status).toBe(201);
    expect(stored.json).toEqual({ id: stored.json.id, provider: 'prov_a', key_version: 1 });
    const listed = await gw.call('GET', path, { token });
    expect(listed.json).toEqual([
      {
        id: stored.json.id,
        provider: 'prov_a',
        key_version: 1,
        last_rotated_at: null,
        created_at: listed.json[0].created_at,
      },
    ]);
    expect(listed.text).not.toContain('canary');
    const removed = await gw.call('DELETE', `${path}/${stored.json.id}`, { token });
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect(await list(token, path)).toEqual([]);
    expect((await gw.call('DELETE', `${path}/${stored.json.id}`, { token })).status).toBe(404);
  });
});

describe('a provider key', () => {
  it.each(['prov_a', 'prov_b', 'prov_c', 'prov_d'])('can be stored for %s', async (provider) => {
    const { token } = await gw.signUp();
    expect((await store(token, { provider, key: 'k' })).json.provider).toBe(provider);
  });

  it('is rotated in place when another one is stored, and opens as the newest', async () => {
    const { token, tenantId } = await gw.signUp();
    const first = (await store(token, { provider: 'prov_b', key: 'first-key' })).json;
    const second = (await store(token, { provider: 'prov_b', key: 'second-key' })).json;
    expect(second).toEqual({ id: first.id, provider: 'prov_b', key_version: 2 });
    const [listed] = await list(token);
    expect(Date.parse(listed.last_rotated_at)).not.toBeNaN();
    const [row] = await sealedRows(tenantId);
    const { id, data_key_wrapped, key_sealed } = row!;
    expect(vault().open(tenantId, data_key_wrapped, `provider_key:${id}`, key_sealed)).toBe('second-key');
    const audit = await gw.sql(
      "select action, details from audit_entries where tenant_id = $1 and resource_type = 'provider_key' order by id",
      [tenantId],
    );
    expect(audit).toEqual([
      { action: 'provider_key.stored', details: { provider: 'prov_b', key_version: 1 } },
      { action: 'provider_key.rotated', details: { provider: 'prov_b', key_version: 2 } },
    ]);
  });

  // Only the first key of a provider can race to be inserted, so there are many firsts.
  it.each(['prov_a', 'prov_b', 'prov_c', 'prov_d'])(
    'stored ten times at once for %s is one key with ten versions',
    async (provider) => {
      for (let round = 0; round < 3; round++) {
        const { token, tenantId } = await gw.signUp();
        await Promise.all(Array.from({ length: 10 }, () => list(token)));
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) => store(token, { provider, key: `key-${index}` })),
        );
        expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
        expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
        const versions = answers.map(({ json }) => json.key_version).sort((a, b) => a - b);
        expect(versions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        const last = answers.findIndex(({ json }) => json.key_version === 10);
        const [row] = await sealedRows(tenantId);
        const { id, data_key_wrapped, key_sealed } = row!;
        expect(vault().open(tenantId, data_key_wrapped, `provider_key:${id}`, key_sealed)).toBe(
          `key-${last}`,
        );
      }
    },
  );

  it('stored again after its removal is a new key, and of the removed one nothing is left to open', async () => {
    const { token, tenantId } = await gw.signUp();
    const old = (await store(token, { provider: 'prov_a', key: CANARY })).json;
    await gw.call('DELETE', `/v1/provider-keys/${old.id}`, { token });
    const fresh = (await store(token, { provider: 'prov_a', key: 'fresh' })).json;
    expect(fresh.key_version).toBe(1);
    expect(fresh.id).not.toBe(old.id);
    const rows = await sealedRows(tenantId);
    expect(rows.find(({ id }) => id === old.id)!.key_sealed).toHaveLength(0);
  });

  it.each([
    [{ key: 'k' }, 'provider_required'],
    [{ provider: 'prov_a' }, 'key_required'],
    [{}, 'provider_required'],
    [{ provider: 'openai', key: 'k' }, 'invalid_field'],
    [{ provider: 'prov_e', key: 'k' }, 'invalid_field'],
    [{ provider: 'prov_a', key: ' sk-padded ' }, 'invalid_field'],
    [{ provider: 'prov_a', key: 'sk-new\nline' }, 'invalid_field'],
    [{ provider: 'prov_a', key: 'sk-ünicode' }, 'invalid_field'],
    [{ provider: 'prov_a', key: 7 }, 'invalid_field'],
  ])('is refused as %j with %s', async (body, error) => {
    const { token } = await gw.signUp();
    const answer = await store(token, body);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    expect(await list(token)).toEqual([]);
  });

  it('with white space is told what is allowed, and not told its own value', async () => {
    const { token } = await gw.signUp();
    const answer = await store(token, { provider: 'prov_a', key: ` ${CANARY}` });
    expect(answer.json.message).toContain('printable ASCII without spaces');
    expect(answer.text).not.toContain(CANARY);
  });
});

describe('the secrecy of a provider key', () => {
  it('holds in every row of the database', async () => {
    const { token } = await gw.signUp();
    await store(token, { provider: 'prov_a', key: CANARY });
    await store(token, { provider: 'prov_a', key: `${CANARY}-2` });
    const tables = await gw.sql<{ name: string }>(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('gateway', 'graphile_worker')",
    );
    for (const { name } of tables) {
      const [dump] = await gw.sql<{ text: string }>(
        `select coalesce(string_agg(t::text, ','), '') as text from ${name} t`,
      );
      expect(dump!.text).not.toContain(CANARY);
      expect(dump!.text).not.toContain(Buffer.from(CANARY).toString('hex'));
      expect(dump!.text).not.toContain(Buffer.from(CANARY).toString('base64'));
    }
  });

  it('survives rows copied to another tenant or swapped within one', async () => {
    const [a, b] = [await gw.signUp(), await gw.signUp()];
    await store(a.token, { provider: 'prov_a', key: CANARY });
    await store(a.token, { provider: 'prov_b', key: 'another' });
    await store(b.token, { provider: 'prov_a', key: 'of-b' });
    const [first, second] = await sealedRows(a.tenantId);
    const [ofB] = await sealedRows(b.tenantId);
    const open = (tenantId: string, dataKey: Buffer, rowId: string, sealed: Buffer) =>
      vault().open(tenantId, dataKey, `provider_key:${rowId}`, sealed);
    expect(open(a.tenantId, first!.data_key_wrapped, first!.id, first!.key_sealed)).toBe(CANARY);
    expect(() => open(a.tenantId, first!.data_key_wrapped, second!.id, first!.key_sealed)).toThrow();
    expect(() => open(b.tenantId, ofB!.data_key_wrapped, ofB!.id, first!.key_sealed)).toThrow();
    expect(() => open(b.tenantId, first!.data_key_wrapped, first!.id, first!.key_sealed)).toThrow();
  });
});

describe("another tenant's provider key", () => {
  it('is answered like one that does not exist, byte for byte, and stays', async () => {
    const [owner, stranger] = [await gw.signUp(), await gw.signUp()];
    const { id } = (await store(owner.token, { provider: 'prov_a', key: 'k' })).json;
    const answers = [];
    for (const base of ['/v1/provider-keys', '/v1/providers']) {
      for (const each of [id, '018f0000-0000-7000-8000-00000000dead', 'nonsense']) {
        answers.push(await gw.call('DELETE', `${base}/${each}`, { token: stranger.token }));
      }
    }
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]!.status, answers[0]!.json.error]).toEqual([404, 'not_found']);
    expect(await list(owner.token)).toHaveLength(1);
    expect(await list(stranger.token)).toEqual([]);
  });

  it.each(['GET /v1/providers', 'POST /v1/provider-keys', 'DELETE /v1/providers/x'])(
    'needs a session for %s',
    async (route) => {
      const [method, path] = route.split(' ') as [string, string];
      expect((await gw.call(method, path)).json.error).toBe('missing_auth');
    },
  );
});
