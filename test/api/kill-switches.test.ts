import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';

let gw: Gateway;
let token: string;
let tenantId: string;
let email: string;
let key: string;
let keyId: string;
beforeAll(async () => {
  gw = await startGateway();
});
afterAll(() => gw.stop());
beforeEach(async () => {
  ({ token, tenantId, email, key, keyId } = await gw.onboard());
});

const activate = (body: unknown, as = token) => gw.call('POST', '/v1/kill', { token: as, body });
const lift = (id: string, as = token) => gw.call('DELETE', `/v1/kill/${id}`, { token: as });
const list = async (as = token) => (await gw.call('GET', '/v1/kill', { token: as })).json;
const team = async (name: string) => (await gw.call('POST', '/v1/teams', { token, body: { name } })).json;
const proxied = (headers: Record<string, string> = {}, using = key) =>
  gw.proxy('/prov_a/v1/chat/completions', {
    key: using,
    headers,
    body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] },
  });
const status = async (headers: Record<string, string> = {}, using = key) =>
  (await proxied(headers, using)).status;

describe('a kill switch', () => {
  it('is thrown, listed, lifted and kept, and each of it is on record', async () => {
    const thrown = await activate({ scope_type: 'service', scope_value: ' chat ', reason: 'runaway loop' });
    expect(thrown.status).toBe(201);
    expect(thrown.json).toEqual({
      id: expect.any(String),
      scope_type: 'service',
      scope_value: 'chat',
      team_id: null,
      reason: 'runaway loop',
      activated_by: email,
      activated_at: expect.any(String),
      deactivated_at: null,
    });
    const later = (await activate({ scope_type: 'agent', scope_value: 'bot' })).json;
    expect(later.reason).toBeNull();
    expect(await list()).toEqual([later, thrown.json]);
    const lifted = await lift(later.id);
    expect([lifted.status, lifted.text]).toEqual([204, '']);
    const [active, inactive] = await list();
    expect(active).toEqual(thrown.json);
    expect(inactive).toEqual({ ...later, deactivated_at: expect.any(String) });
    const audit = await gw.sql(
      "select action, actor_id, details from audit_entries where tenant_id = $1 and resource_type = 'kill_switch' order by id",
      [tenantId],
    );
    expect(audit.map(({ action }) => action)).toEqual([
      'kill_switch.activated',
      'kill_switch.activated',
      'kill_switch.deactivated',
    ]);
    expect(audit[0]).toMatchObject({
      actor_id: email,
      details: { scope_value: 'chat', reason: 'runaway loop' },
    });
  });

  it('emits an event with the switch when it is thrown', async () => {
    const { json } = await activate({ scope_type: 'all', scope_value: '*' });
    const events = await gw.sql('select type, data from events where tenant_id = $1', [tenantId]);
    expect(events).toEqual([{ type: 'alert.kill_switch', data: json }]);
  });

  it('may be lifted twice, and stays lifted as it was', async () => {
    const { id } = (await activate({ scope_type: 'all' })).json;
    await lift(id);
    const before = await list();
    expect((await lift(id)).status).toBe(204);
    expect(await list()).toEqual(before);
    const [{ count }] = (await gw.sql(
      "select count(*)::int from audit_entries where tenant_id = $1 and action = 'kill_switch.deactivated'",
      [tenantId],
    )) as [{ count: number }];
    expect(count).toBe(1);
  });

  it.each([
    [{}, 'invalid_scope_type'],
    [{ scope_value: 'chat' }, 'invalid_scope_type'],
    [{ scope_type: 'organization', scope_value: 'x' }, 'invalid_scope_type'],
    [{ scope_type: null, scope_value: 'x' }, 'invalid_scope_type'],
    [{ scope_type: 'service' }, 'scope_value_required'],
    [{ scope_type: 'agent', scope_value: '' }, 'scope_value_required'],
    [{ scope_type: 'team', scope_value: '  ' }, 'scope_value_required'],
    [{ scope_type: 'api_key', scope_value: null }, 'scope_value_required'],
    [{ scope_type: 'service', scope_value: 7 }, 'invalid_field'],
    [{ scope_type: 'service', scope_value: 'a\nb' }, 'invalid_field'],
    [{ scope_type: 'service', scope_value: 'x'.repeat(257) }, 'invalid_field'],
    [{ scope_type: 'all', scope_value: 'chat' }, 'invalid_field'],
    [{ scope_type: 'team', scope_value: 'nobody' }, 'invalid_field'],
    [{ scope_type: 'api_key', scope_value: 'gw_live_zzzzz' }, 'invalid_field'],
    [{ scope_type: 'all', reason: 7 }, 'invalid_field'],
    [{ scope_type: 'all', reason: 'x'.repeat(501) }, 'invalid_field'],
  ])('is refused as %j with %s', async (body, error) => {
    const answer = await activate(body);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    expect(await list()).toEqual([]);
  });

  it('is one of at most ten active ones, whoever throws how many at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => activate({ scope_type: 'service', scope_value: `s${index}` })),
    );
    const thrown = answers.filter(({ status }) => status === 201);
    expect(thrown).toHaveLength(10);
    const refused = answers.filter(({ status, json }) => status === 400 && json.error === 'limit_exceeded');
    expect(refused).toHaveLength(40);
    await lift(thrown[0]!.json.id);
    expect((await activate({ scope_type: 'all' })).status).toBe(201);
    expect((await activate({ scope_type: 'all' })).status).toBe(400);
    expect(await list()).toHaveLength(11);
  });

  it('is nobody else’s', async () => {
    const { id } = (await activate({ scope_type: 'all' })).json;
    const other = await gw.onboard();
    expect(await list(other.token)).toEqual([]);
    for (const target of [id, 'not-an-id', '0197f000-0000-7000-8000-000000000000']) {
      const answer = await lift(target, other.token);
      expect([answer.status, answer.json.error]).toEqual([404, 'not_found']);
    }
    expect(await list()).toMatchObject([{ id, deactivated_at: null }]);
    expect(await status({}, other.key)).toBe(200);
    for (const value of [keyId, key.slice(0, 13)])
      expect((await activate({ scope_type: 'api_key', scope_value: value }, other.token)).status).toBe(400);
  });

  it.each(['GET /v1/kill', 'POST /v1/kill', 'DELETE /v1/kill/x'])('needs a session for %s', async (route) => {
    const [method, path] = route.split(' ') as [string, string];
    expect((await gw.call(method, path)).json.error).toBe('missing_auth');
  });
});

describe('a request that a kill switch matches', () => {
  it('is refused with 451 at once, never reaches the provider, and flows again when the switch is lifted', async () => {
    expect(await status({ 'x-gateway-service': 'chat' })).toBe(200);
    const { json: kill } = await activate({ scope_type: 'service', scope_value: 'chat' });
    const refused = await proxied({ 'x-gateway-service': 'chat' });
    expect(refused.status).toBe(451);
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(refused.json).toMatchObject({
      error: 'killed',
      kill_id: kill.id,
      scope_type: 'service',
      scope_value: 'chat',
      activated_at: kill.activated_at,
    });
    expect(await status({ 'x-gateway-service': 'other' })).toBe(200);
    await lift(kill.id);
    expect(await status({ 'x-gateway-service': 'chat' })).toBe(200);
    await gw.logged(token, 4);
    const [row] = await gw.sql(
      'select cost_microdollars::int as cost, sequence_number, refusal from requests where tenant_id = $1 and status_code = 451',
      [tenantId],
    );
    expect(row).toEqual({ cost: 0, sequence_number: null, refusal: 'killed' });
  });

  it('is one of a team by id, slug or name, also when the team has another name by now', async () => {
    const { id, slug } = await team('Research Lab');
    const headers = { 'x-gateway-team': id };
    for (const scope_value of [id, slug, 'Research Lab']) {
      const { json } = await activate({ scope_type: 'team', scope_value });
      expect(json).toMatchObject({ scope_value, team_id: id });
      expect(await status(headers)).toBe(451);
      await gw.call('PUT', `/v1/teams/${id}`, { token, body: { name: 'Renamed', slug: 'renamed' } });
      expect(await status(headers)).toBe(451);
      expect(await status()).toBe(200);
      await lift(json.id);
      expect(await status(headers)).toBe(200);
      await gw.call('PUT', `/v1/teams/${id}`, { token, body: { name: 'Research Lab', slug } });
    }
  });

  it('is one of a key by its id or prefix; a whole key is not kept', async () => {
    const other = (await gw.call('POST', '/v1/api-keys', { token, body: { name: 'other' } })).json;
    for (const scope_value of [keyId, keyId.toUpperCase(), key.slice(0, 13), key]) {
      const { json } = await activate({ scope_type: 'api_key', scope_value });
      expect(json.scope_value).toBe(scope_value.startsWith('gw_') ? key.slice(0, 13) : keyId);
      expect([await status(), await status({}, other.key)]).toEqual([451, 200]);
      await lift(json.id);
    }
    const kept = await gw.sql(
      'select scope_value from kill_switches where tenant_id = $1 union select details::text from audit_entries where tenant_id = $1',
      [tenantId],
    );
    expect(JSON.stringify(kept)).not.toContain(key);
  });

  it('is one of an agent, or any at all', async () => {
    const agent = (await activate({ scope_type: 'agent', scope_value: 'bot' })).json;
    expect([await status({ 'x-gateway-agent': 'bot' }), await status()]).toEqual([451, 200]);
    await lift(agent.id);
    await activate({ scope_type: 'all', scope_value: '*' });
    expect(await status()).toBe(451);
  });

  it('is refused on another node within a second', async () => {
    const node = await startGateway({ databaseUrl: gw.databaseUrl, simulator: gw.simulator });
    try {
      const there = () =>
        node.proxy('/prov_a/v1/chat/completions', { key, body: { model: 'gpt-4o-mini', messages: [] } });
      expect((await there()).status).toBe(200);
      await activate({ scope_type: 'all', scope_value: '*' });
      await eventually(async () => expect((await there()).status).toBe(451));
    } finally {
      await node.stop();
    }
  });
});
