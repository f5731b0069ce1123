import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';

let gw: Gateway;
let tenant: SignedUp;
let noisy: SignedUp;

/** More than one batch of the export, spread over two days of March. */
const OLD_ENTRIES = 1_203;

beforeAll(async () => {
  gw = await startGateway();
  tenant = await gw.signUp();
  noisy = await gw.signUp();
  await gw.call('POST', '/v1/teams', { token: tenant.token, body: { name: '=cmd|calc' } });
  await gw.call('POST', '/v1/auth/login', { body: { email: tenant.email, password: 'wrong' } });
  await gw.sql(
    `insert into audit_entries (tenant_id, id, actor_type, actor_id, action, details, created_at)
     select $1::uuid,
            (substr(first_id_at(at)::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid,
            case n % 3 when 0 then 'operator' else 'user' end, n::text, 'old.entry', '{"n": 1}', at
       from generate_series(1, ${OLD_ENTRIES}) n,
            lateral (select case when n <= 600 then timestamptz '2026-03-30T23:59:59.999Z'
                                 else timestamptz '2026-03-31T00:00:00Z' end as at) instant`,
    [noisy.tenantId],
  );
});
afterAll(() => gw.stop());

const read = (query = '', token = tenant.token) => gw.call('GET', `/v1/audit${query}`, { token });
const total = async (query: string) => (await read(query, noisy.token)).json.total;

describe('the audit', () => {
  it('lists what the tenant did, newest first, with every field', async () => {
    const { status, json } = await read();
    expect(status).toBe(200);
    expect(json).toMatchObject({ total: 3, limit: 50, offset: 0 });
    expect(json.data.map(({ action }: { action: string }) => action)).toEqual([
      'user.login_failed',
      'team.created',
      'tenant.signed_up',
    ]);
    expect(json.data[1]).toEqual({
      id: json.data[1].id,
      tenant_id: tenant.tenantId,
      actor_type: 'user',
      actor_id: tenant.email,
      action: 'team.created',
      resource_type: 'team',
      resource_id: json.data[1].resource_id,
      ip_address: '127.0.0.1',
      details: { name: '=cmd|calc', slug: 'cmd-calc', cost_center: null },
      created_at: json.data[1].created_at,
    });
  });

  it('is the tenant’s own: no other tenant’s entry is in it', async () => {
    const { json } = await read('?limit=500', noisy.token);
    expect(json.total).toBe(OLD_ENTRIES + 1);
    expect(json.data.every((entry: { tenant_id: string }) => entry.tenant_id === noisy.tenantId)).toBe(true);
    expect((await read('', '')).json.error).toBe('missing_auth');
  });

  it('is filtered by actor and action, exactly', async () => {
    expect(await total('?actor_type=operator')).toBe(401);
    expect(await total('?action=old.entry')).toBe(OLD_ENTRIES);
    expect(await total('?action=old')).toBe(0);
    expect(await total('?action=old.entry&actor_type=user')).toBe(OLD_ENTRIES - 401);
    expect(await total("?action=' or true --")).toBe(0);
    expect(await total('?action=%25')).toBe(0);
  });

  it('is filtered by whole UTC days, both ends included', async () => {
    expect(await total('?from=2026-03-30&to=2026-03-30')).toBe(600);
    expect(await total('?from=2026-03-31&to=2026-03-31')).toBe(603);
    expect(await total('?to=2026-03-30')).toBe(600);
    expect(await total('?from=2026-03-31&action=old.entry')).toBe(603);
    expect(await total('?from=2026-03-31&to=2026-03-30')).toBe(0);
    expect(await total('?from=0001-01-01&to=9999-12-31')).toBe(OLD_ENTRIES + 1);
    expect(await total('?to=1969-12-31')).toBe(0);
  });

  it.each([
    'from=2026-02-31',
    'to=2026-13-01',
    'from=yesterday',
    'limit=-1',
    'limit=ten',
    'limit=1.5',
    'offset=-1',
    'format=xml',
    'action=%00',
  ])('refuses %s', async (query) => {
    const answer = await read(`?${query}`);
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_field']);
    expect(answer.json.message).toContain(query.split('=')[0]);
  });

  it('is paged without gap or repetition, and an excessive limit is cut', async () => {
    const ids: string[] = [];
    for (let offset = 0; offset < OLD_ENTRIES + 1; offset += 500) {
      const { json } = await read(`?limit=9999&offset=${offset}`, noisy.token);
      expect(json).toMatchObject({ total: OLD_ENTRIES + 1, limit: 500, offset });
      ids.push(...json.data.map(({ id }: { id: string }) => id));
    }
    expect(new Set(ids).size).toBe(OLD_ENTRIES + 1);
    expect(ids).toEqual([...ids].sort().reverse());
    expect((await read('?limit=0', noisy.token)).json).toMatchObject({ data: [], total: OLD_ENTRIES + 1 });
  });

  it('is exported whole as CSV, over more than one batch, under the same filters', async () => {
    const file = await read('?format=csv&action=old.entry&limit=5', noisy.token);
    expect(file.status).toBe(200);
    expect(file.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(file.headers.get('content-disposition')).toContain('audit.csv');
    const lines = file.text.trimEnd().split('\r\n');
    expect(lines[0]).toBe(
      'id,tenant_id,actor_type,actor_id,action,resource_type,resource_id,ip_address,details,created_at',
    );
    expect(lines).toHaveLength(OLD_ENTRIES + 1);
    const ids = lines.slice(1).map((line) => line.split(',')[0]!);
    expect(new Set(ids).size).toBe(OLD_ENTRIES);
    expect(ids).toEqual([...ids].sort().reverse());
    expect(lines[1]).toContain('"{""n"":1}"');
  });

  it('as CSV cannot run a formula', async () => {
    await gw.sql(
      "update audit_entries set actor_id = '=1+1' where tenant_id = $1 and action = 'team.created'",
      [tenant.tenantId],
    );
    const { text } = await read('?format=csv&action=team.created');
    expect(text).toContain(",'=1+1,");
  });
});
