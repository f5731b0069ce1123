import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseApiKey } from '../../src/server/domain/api-keys.ts';
import { type Gateway, startGateway } from '../harness.ts';

let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway();
});
afterAll(() => gw.stop());

const create = (token: string, body: unknown, path = '/v1/api-keys') =>
  gw.call('POST', path, { token, body });
const list = async (token: string, path = '/v1/api-keys') => (await gw.call('GET', path, { token })).json;

describe.each(['/v1/api-keys', '/v1/keys'])('an API key under %s', (path) => {
  it('is shown once, and afterwards only by its first 13 characters', async () => {
    const { token } = await gw.signUp();
    const made = await create(token, { name: ' backend ' }, path);
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      name: 'backend',
      environment: 'production',
      team_id: null,
      service_name: null,
    });
    expect(made.json.key).toMatch(/^gw_live_[0-9A-Za-z]{38,}$/);
    expect(parseApiKey(made.json.key)).not.toBeNull();
    expect(made.json.prefix).toBe(made.json.key.slice(0, 13));
    const [listed] = await list(token, path);
    expect(listed).toEqual({
      id: made.json.id,
      name: 'backend',
      key_prefix: made.json.prefix,
      environment: 'production',
      team_id: null,
      service_name: null,
      last_used_at: null,
      revoked_at: null,
      created_at: made.json.created_at,
    });
  });

  it('is revoked once and for all, and stays listed', async () => {
    const { token, tenantId } = await gw.signUp();
    const { id } = (await create(token, { name: 'old' }, path)).json;
    const first = await gw.call('DELETE', `${path}/${id}`, { token });
    expect([first.status, first.text]).toEqual([204, '']);
    const revokedAt = (await list(token, path))[0].revoked_at;
    expect(Date.parse(revokedAt)).not.toBeNaN();
    expect((await gw.call('DELETE', `${path}/${id}`, { token })).status).toBe(204);
    expect((await list(token, path))[0].revoked_at).toBe(revokedAt);
    const audit = await gw.sql(
      "select action from audit_entries where tenant_id = $1 and resource_type = 'api_key' order by id",
      [tenantId],
    );
    expect(audit).toEqual([{ action: 'api_key.created' }, { action: 'api_key.revoked' }]);
  });
});

describe('an API key', () => {
  it('belongs to an environment, a team and a service when it says so', async () => {
    const { token } = await gw.signUp();
    const team = (await gw.call('POST', '/v1/teams', { token, body: { name: 'Ops' } })).json;
    const body = { name: 'ci', environment: 'test', team_id: team.id, service_name: 'pipeline' };
    const made = (await create(token, body)).json;
    expect(made).toMatchObject(body);
    expect(made.key).toMatch(/^gw_test_/);
    const plain = (await create(token, { name: 'plain', team_id: null, service_name: null })).json;
    expect((await list(token)).map(({ id }: { id: string }) => id)).toEqual([plain.id, made.id]);
  });

  it('is in the database only as prefix and hash', async () => {
    const { token, tenantId } = await gw.signUp();
    const { key } = (await create(token, { name: 'canary' })).json;
    const [row] = await gw.sql<{ text: string; key_hash: Buffer }>(
      'select k::text as text, key_hash from api_keys k where tenant_id = $1',
      [tenantId],
    );
    expect(row!.text).not.toContain(key.slice(13));
    expect(row!.key_hash.equals(createHash('sha256').update(key).digest())).toBe(true);
    const [audit] = await gw.sql<{ text: string }>(
      "select string_agg(e::text, ',') as text from audit_entries e where tenant_id = $1",
      [tenantId],
    );
    expect(audit!.text).not.toContain(key.slice(13));
  });

  it.each([
    [{}, 'name_required'],
    [{ name: '' }, 'name_required'],
    [{ name: 'k', environment: 'staging' }, 'invalid_field'],
    [{ name: 'k', service_name: '' }, 'invalid_field'],
    [{ name: 'k', team_id: 'ops' }, 'invalid_field'],
    [{ name: 'k', team_id: '018f0000-0000-7000-8000-00000000dead' }, 'invalid_field'],
    [{ name: 'k', team_id: 'urn:uuid:018f0000-0000-7000-8000-00000000dead' }, 'invalid_field'],
  ])('is refused as %j with %s', async (body, error) => {
    const { token } = await gw.signUp();
    const answer = await create(token, body);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    expect(await list(token)).toEqual([]);
  });

  it('cannot be put into a team that is deleted or another tenant’s, with one answer for both', async () => {
    const [mine, theirs] = [await gw.signUp(), await gw.signUp()];
    const team = async (token: string) =>
      (await gw.call('POST', '/v1/teams', { token, body: { name: 'T' } })).json.id;
    const foreign = await team(theirs.token);
    const deleted = await team(mine.token);
    await gw.call('DELETE', `/v1/teams/${deleted}`, { token: mine.token });
    const answers = [];
    for (const team_id of [foreign, deleted, '018f0000-0000-7000-8000-00000000dead']) {
      answers.push(await create(mine.token, { name: 'k', team_id }));
    }
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]!.json.message).toContain('team_id');
  });

  it('is one of at most a thousand that work, also when several come at once', async () => {
    const { token, tenantId } = await gw.signUp();
    await gw.sql(
      `insert into api_keys (tenant_id, id, name, environment, prefix, key_hash)
       select $1::uuid, gen_random_uuid(), 'k', 'test', 'gw_test_12345', sha256(($1::text || n)::bytea)
         from generate_series(1, 998) n`,
      [tenantId],
    );
    const answers = await Promise.all(Array.from({ length: 6 }, () => create(token, { name: 'k' })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.every(({ status, json }) => status === 400 && json.error === 'limit_exceeded')).toBe(true);
    const [{ id }] = await list(token);
    await gw.call('DELETE', `/v1/api-keys/${id}`, { token });
    expect((await create(token, { name: 'k' })).status).toBe(201);
  });
});

describe("another tenant's API key", () => {
  it('is answered like one that does not exist, byte for byte, and goes on working', async () => {
    const [owner, stranger] = [await gw.signUp(), await gw.signUp()];
    const { id } = (await create(owner.token, { name: 'mine' })).json;
    const answers = [];
    for (const base of ['/v1/api-keys', '/v1/keys']) {
      for (const each of [id, '018f0000-0000-7000-8000-00000000dead', 'nonsense', '%00']) {
        answers.push(await gw.call('DELETE', `${base}/${each}`, { token: stranger.token }));
      }
    }
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]!.status, answers[0]!.json.error]).toEqual([404, 'not_found']);
    expect((await list(owner.token))[0].revoked_at).toBeNull();
    expect(await list(stranger.token)).toEqual([]);
  });

  it.each(['GET /v1/api-keys', 'POST /v1/keys', 'DELETE /v1/keys/x'])(
    'needs a session for %s',
    async (route) => {
      const [method, path] = route.split(' ') as [string, string];
      expect((await gw.call(method, path)).json.error).toBe('missing_auth');
    },
  );
});

describe('at the proxy', () => {
  const models = (key: string) => gw.proxy('/prov_a/v1/models', { key, method: 'GET' });

  it('a key works at once, and a revoked one is refused at once', async () => {
    const { token, key, keyId } = await gw.onboard();
    expect((await models(key)).status).toBe(200);
    await gw.call('DELETE', `/v1/api-keys/${keyId}`, { token });
    const refused = await models(key);
    expect([refused.status, refused.json.error]).toEqual([401, 'invalid_token']);
  });

  it('the keys of a cancelled account are refused at once', async () => {
    const { token, key } = await gw.onboard();
    expect((await models(key)).status).toBe(200);
    await gw.call('DELETE', '/v1/account', { token });
    expect((await models(key)).status).toBe(401);
  });
});
