import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';

let gw: Gateway;
let token: string;
beforeAll(async () => {
  gw = await startGateway();
});
afterAll(() => gw.stop());

const create = (body: unknown, as = token) => gw.call('POST', '/v1/teams', { token: as, body });
const list = async (as = token) => (await gw.call('GET', '/v1/teams', { token: as })).json;

async function freshTenant(): Promise<{ token: string; tenantId: string }> {
  const tenant = await gw.signUp();
  token = tenant.token;
  return tenant;
}

describe('a team', () => {
  it('is created, listed newest first, read, changed and deleted', async () => {
    const { tenantId } = await freshTenant();
    const platform = await create({ name: ' Platform ', cost_center: 'CC-1' });
    expect(platform.status).toBe(201);
    expect(platform.json).toMatchObject({ name: 'Platform', slug: 'platform', cost_center: 'CC-1' });
    expect(Object.keys(platform.json).sort()).toEqual(['cost_center', 'created_at', 'id', 'name', 'slug']);
    const data = (await create({ name: 'Équipe Données', slug: 'data' })).json;
    expect(data).toMatchObject({ slug: 'data', cost_center: null });
    expect((await list()).map(({ slug }: { slug: string }) => slug)).toEqual(['data', 'platform']);
    const path = `/v1/teams/${platform.json.id}`;
    expect((await gw.call('GET', path, { token })).json).toEqual(platform.json);
    const renamed = await gw.call('PUT', path, { token, body: { name: 'Core', slug: 'core' } });
    expect(renamed.json).toMatchObject({ name: 'Core', slug: 'core', cost_center: 'CC-1' });
    const cleared = await gw.call('PUT', path, { token, body: { cost_center: null } });
    expect(cleared.json).toMatchObject({ name: 'Core', slug: 'core', cost_center: null });
    const deleted = await gw.call('DELETE', path, { token });
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect(await list()).toEqual([data]);
    const [kept] = await gw.sql('select deleted_at from teams where id = $1', [platform.json.id]);
    expect(kept!.deleted_at).not.toBeNull();
    const actions = await gw.sql(
      "select action, resource_id from audit_entries where tenant_id = $1 and resource_type = 'team' order by id",
      [tenantId],
    );
    expect(actions.map(({ action }) => action)).toEqual([
      'team.created',
      'team.created',
      'team.updated',
      'team.updated',
      'team.deleted',
    ]);
  });

  it('gets a slug of its own from its name, also when many come at once', async () => {
    await freshTenant();
    const answers = await Promise.all(Array.from({ length: 12 }, () => create({ name: 'Ops!' })));
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    const slugs = answers.map(({ json }) => json.slug).sort();
    expect(slugs).toEqual(['ops', ...Array.from({ length: 11 }, (_, index) => `ops-${index + 2}`)].sort());
    expect((await create({ name: '日本' })).json.slug).toBe('team');
    expect((await create({ name: '***' })).json.slug).toBe('team-2');
  });

  it('gets a slug that it names from one of many who name it at once', async () => {
    await freshTenant();
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ name: 'A', slug: 'one' })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.every(({ status, json }) => status === 409 && json.error === 'conflict')).toBe(true);
  });

  it('cannot take over the slug of another, but may keep its own or take a deleted one', async () => {
    await freshTenant();
    const [one, two] = [(await create({ name: 'One' })).json, (await create({ name: 'Two' })).json];
    const put = (id: string, body: unknown) => gw.call('PUT', `/v1/teams/${id}`, { token, body });
    expect((await put(two.id, { slug: 'one' })).json.error).toBe('conflict');
    expect((await put(two.id, { slug: 'two' })).status).toBe(200);
    await gw.call('DELETE', `/v1/teams/${one.id}`, { token });
    expect((await put(two.id, { slug: 'one' })).json.slug).toBe('one');
    expect((await create({ name: 'One', slug: 'two' })).status).toBe(201);
  });

  it('may share its slug with a team of another tenant', async () => {
    await freshTenant();
    expect((await create({ name: 'A', slug: 'same' })).status).toBe(201);
    await freshTenant();
    expect((await create({ name: 'A', slug: 'same' })).status).toBe(201);
  });

  it.each([
    [{}, 'name_required'],
    [{ name: '' }, 'name_required'],
    [{ name: '   ' }, 'name_required'],
    [{ name: 'a\u0000b' }, 'name_required'],
    [{ name: 'A', slug: 'Not A Slug' }, 'invalid_field'],
    [{ name: 'A', slug: '' }, 'invalid_field'],
    [{ name: 'A', slug: '-a' }, 'invalid_field'],
    [{ name: 'A', cost_center: 7 }, 'invalid_field'],
  ])('is refused as %j with %s', async (body, error) => {
    await freshTenant();
    const answer = await create(body);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    expect(await list()).toEqual([]);
  });

  it('is one of at most a thousand', async () => {
    const { tenantId } = await freshTenant();
    await gw.sql(
      `insert into teams (tenant_id, id, name, slug)
       select $1, gen_random_uuid(), 'T', 't' || n from generate_series(1, 1000) n`,
      [tenantId],
    );
    const answer = await create({ name: 'One too many' });
    expect([answer.status, answer.json.error]).toEqual([400, 'limit_exceeded']);
  });
});

describe("another tenant's team", () => {
  it('is answered like one that does not exist, byte for byte, and stays as it is', async () => {
    await freshTenant();
    const { id } = (await create({ name: 'Mine' })).json;
    const owner = token;
    await freshTenant();
    const ids = [
      id,
      '018f0000-0000-7000-8000-00000000dead',
      'not-a-uuid',
      `urn:uuid:${id}`,
      "'; drop table teams",
    ];
    const answers = [];
    for (const each of ids) {
      const path = `/v1/teams/${encodeURIComponent(each)}`;
      answers.push(await gw.call('GET', path, { token }));
      answers.push(await gw.call('PUT', path, { token, body: { name: 'Stolen' } }));
      answers.push(await gw.call('DELETE', path, { token }));
    }
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]!.status, answers[0]!.json.error]).toEqual([404, 'not_found']);
    expect(await list()).toEqual([]);
    expect((await list(owner)).map(({ name }: { name: string }) => name)).toEqual(['Mine']);
  });

  it('once deleted is not found by its owner either', async () => {
    await freshTenant();
    const { id } = (await create({ name: 'Gone' })).json;
    await gw.call('DELETE', `/v1/teams/${id}`, { token });
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await gw.call(method, `/v1/teams/${id}`, {
        token,
        ...(method === 'PUT' && { body: {} }),
      });
      expect(answer.json.error).toBe('not_found');
    }
  });

  it.each(['GET /v1/teams', 'POST /v1/teams', 'GET /v1/teams/x', 'PUT /v1/teams/x', 'DELETE /v1/teams/x'])(
    'needs a session for %s',
    async (route) => {
      const [method, path] = route.split(' ') as [string, string];
      expect((await gw.call(method, path)).json.error).toBe('missing_auth');
    },
  );
});
