import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { type RecordedRequest, recordRequests } from './recorded-requests.ts';

const NOW = Date.parse('2026-03-15T12:00:00Z');
const TEAM = '019ce000-0000-7000-8000-00000000000a';
const GONE_TEAM = '019ce000-0000-7000-8000-00000000000b';
const AWKWARD_NAMES = ['a/b', '50%', 'ünïcødé 🦜', 'x y+z', "o'neil", '%2e%2e', 'a?b#c', '*'];

let gw: Gateway;
let tenant: SignedUp;
let stranger: SignedUp;

const get = (path: string, token = tenant.token) => gw.call('GET', path, { token });

beforeAll(async () => {
  gw = await startGateway({ nowMs: () => NOW });
  tenant = await gw.signUp();
  stranger = await gw.signUp();
  await gw.sql(
    `insert into teams (tenant_id, id, name, slug, deleted_at)
     values ($1, $2, 'Search', 'search', null), ($1, $3, 'Gone', 'gone', now())`,
    [tenant.tenantId, TEAM, GONE_TEAM],
  );
  const traffic: RecordedRequest[] = [
    // Inside the default range: 2026-02-14 to 2026-03-15.
    {
      created_at: '2026-03-15T11:59:59.999Z',
      model_id: 'claude',
      provider: 'prov_b',
      cost_microdollars: 5_000,
      team_id: TEAM,
      service_name: 'api',
      user_name: 'ann',
    },
    {
      created_at: '2026-03-15T00:00:00Z',
      cost_microdollars: 4_000,
      team_id: TEAM,
      service_name: 'web',
      user_name: 'ann',
    },
    {
      created_at: '2026-03-01T23:59:59.999Z',
      cost_microdollars: 3_000,
      user_name: 'bob',
      end_customer: 'acme',
    },
    {
      created_at: '2026-02-14T00:00:00Z',
      cost_microdollars: 2_000,
      team_id: GONE_TEAM,
      end_customer: 'acme',
    },
    {
      created_at: '2026-03-10T10:00:00Z',
      model_id: null,
      model_requested: null,
      cost_microdollars: 0,
      cost_status: 'free',
      status_code: 451,
      refusal: 'killed',
      in_ledger: false,
      tokens_input: 0,
      tokens_output: 0,
      latency_total_ms: 0,
    },
    // Before it.
    { created_at: '2026-02-13T23:59:59.999Z', cost_microdollars: 70_000, user_name: 'carl' },
    ...AWKWARD_NAMES.map((name) => ({
      created_at: '2025-12-24T10:00:00Z',
      cost_microdollars: 1,
      user_name: name,
      end_customer: name,
    })),
  ];
  await recordRequests(gw, tenant.tenantId, traffic);
});
afterAll(() => gw.stop());

describe('summary', () => {
  test('covers the last thirty UTC days, today included, when no range is given', async () => {
    const { status, json } = await get('/v1/usage/summary');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      total_cost_microdollars: 14_000,
      total_cost_usd: '0.014000',
      total_requests: 5,
      total_tokens_input: 400,
      total_tokens_output: 200,
      total_errors: 1,
      average_latency_ms: 160,
    });
    expect(json.top_models.map((row: { model_id: string }) => row.model_id)).toEqual([
      'gpt-5',
      'claude',
      'unknown',
    ]);
    expect(json.top_models[0]).toEqual({
      model_id: 'gpt-5',
      requests: 3,
      tokens_input: 300,
      tokens_output: 150,
      cost_microdollars: 9_000,
      cost_usd: '0.009000',
    });
    expect(json.top_teams.map((row: Record<string, unknown>) => [row.team_id, row.team_name])).toEqual([
      [TEAM, 'Search'],
      [null, null],
      [GONE_TEAM, 'Gone'],
    ]);
  });

  test('reads both ends of a range as whole days', async () => {
    const { json } = await get('/v1/usage/summary?from=2026-02-13&to=2026-02-14');
    expect(json.total_cost_microdollars).toBe(72_000);
  });

  test('reaches until today with from alone, and thirty days back with to alone', async () => {
    expect((await get('/v1/usage/summary?from=2026-03-10')).json.total_requests).toBe(3);
    expect((await get('/v1/usage/summary?to=2026-03-14')).json.total_cost_microdollars).toBe(75_000);
  });

  test('takes each filter exactly, and all of them together', async () => {
    const cost = async (filter: string) =>
      (await get(`/v1/usage/summary?${filter}`)).json.total_cost_microdollars;
    expect(await cost(`team_id=${TEAM}`)).toBe(9_000);
    expect(await cost('model=gpt-5')).toBe(9_000);
    expect(await cost('model=gpt')).toBe(0);
    expect(await cost('service=api')).toBe(5_000);
    expect(await cost(`team_id=${TEAM}&model=gpt-5`)).toBe(4_000);
    const { json } = await get(`/v1/usage/summary?team_id=${TEAM.toUpperCase()}&model=gpt-5&service=web`);
    expect(json).toMatchObject({ total_requests: 1, total_cost_microdollars: 4_000 });
    expect((await get(`/v1/usage/summary?team_id=${TEAM}&service=nope`)).json.total_requests).toBe(0);
  });

  test('is empty, not refused, when from lies after to', async () => {
    const { status, json } = await get('/v1/usage/summary?from=2026-03-10&to=2026-03-01');
    expect([status, json.total_requests, json.top_models]).toEqual([200, 0, []]);
  });

  test.each(['2026-02-31', '2026-13-01', 'yesterday', '2026-1-1'])(
    'refuses the day %s by name',
    async (day) => {
      const { status, json } = await get(`/v1/usage/summary?from=${day}`);
      expect([status, json.error]).toEqual([400, 'invalid_field']);
      expect(json.message).toContain('"from"');
    },
  );

  test('takes any day of the calendar, however far away', async () => {
    for (const path of ['summary', 'by-user', 'requests']) {
      const { status } = await get(`/v1/usage/${path}?from=0001-01-01&to=9999-12-31`);
      expect([path, status]).toEqual([path, 200]);
      expect((await get(`/v1/usage/${path}?to=0001-01-01`)).status).toBe(200);
    }
  });

  test.each(['team_id=nonsense', 'model=%00', 'service=a%00b'])('refuses the filter %s', async (filter) => {
    for (const path of ['summary', 'requests', 'by-model', 'timeseries']) {
      const { status, json } = await get(`/v1/usage/${path}?${filter}`);
      expect([path, status, json.error]).toEqual([path, 400, 'invalid_field']);
    }
  });

  test('answers the same under its older address', async () => {
    for (const name of ['summary', 'by-team', 'by-model', 'by-service', 'timeseries']) {
      expect((await get(`/v1/cost/${name}`)).json).toEqual((await get(`/v1/usage/${name}`)).json);
    }
  });
});

describe('aggregates', () => {
  test('name the dimension, most expensive first, null where a request has none', async () => {
    const services = await get('/v1/usage/by-service');
    expect(
      services.json.data.map((row: Record<string, unknown>) => [row.service_name, row.cost_usd]),
    ).toEqual([
      [null, '0.005000'],
      ['api', '0.005000'],
      ['web', '0.004000'],
    ]);
    const users = await get('/v1/usage/by-user');
    expect(users.json).toMatchObject({
      data: [
        { user: 'ann', requests: 2, cost_microdollars: 9_000 },
        { user: 'bob', requests: 1 },
      ],
      total: 2,
    });
    const customers = await get('/v1/usage/by-end-customer?model=gpt-5');
    expect(customers.json.data).toMatchObject([
      { end_customer: 'acme', requests: 2, cost_microdollars: 5_000 },
    ]);
  });

  test('find requests without a model under the name they are shown by', async () => {
    const { json } = await get('/v1/usage/by-model?model=unknown');
    expect(json.data).toMatchObject([{ model_id: 'unknown', requests: 1 }]);
  });

  test('can be read in pages, and say how many rows there are', async () => {
    const second = await get('/v1/usage/by-user?limit=1&offset=1');
    expect(second.json).toMatchObject({ data: [{ user: 'bob' }], total: 2 });
    expect((await get('/v1/usage/by-user?offset=50')).json).toEqual({ data: [], total: 2 });
  });

  test.each(AWKWARD_NAMES)('tell about the user and the customer called %s', async (name) => {
    for (const [list, field] of [
      ['by-user', 'user'],
      ['by-end-customer', 'end_customer'],
    ]) {
      const path = `/v1/usage/${list}/${encodeURIComponent(name)}?from=2025-12-23&to=2025-12-25`;
      const { status, json } = await get(path);
      expect([status, json[field!]]).toEqual([200, name]);
      expect(json).toMatchObject({ requests: 1, cost_microdollars: 1, cost_usd: '0.000001' });
      expect(json.by_model).toMatchObject([{ model_id: 'gpt-5', requests: 1 }]);
      expect(json.timeseries.map((row: { requests: number }) => row.requests)).toEqual([0, 1, 0]);
    }
  });

  test('know a user who was silent in the range, but nobody who never called', async () => {
    expect((await get('/v1/usage/by-user/carl')).json).toMatchObject({
      user: 'carl',
      requests: 0,
      by_model: [],
    });
    for (const name of ['nobody', 'acme', '%00']) {
      const { status, json } = await get(`/v1/usage/by-user/${name}`);
      expect([status, json.error]).toEqual([404, 'not_found']);
    }
  });
});

describe('timeseries', () => {
  test('has every day of the range, quiet ones with zeros', async () => {
    const { json } = await get('/v1/usage/timeseries');
    expect(json.data).toHaveLength(30);
    expect(json.data[0]).toMatchObject({ bucket: '2026-02-14T00:00:00.000Z', requests: 1 });
    expect(json.data[1]).toEqual({
      bucket: '2026-02-15T00:00:00.000Z',
      requests: 0,
      tokens_input: 0,
      tokens_output: 0,
      cost_microdollars: 0,
      cost_usd: '0.000000',
    });
    expect(json.data[29]).toMatchObject({ bucket: '2026-03-15T00:00:00.000Z', cost_usd: '0.009000' });
  });

  test('has every hour of a day', async () => {
    const { json } = await get('/v1/usage/timeseries?bucket=hour&from=2026-03-15&to=2026-03-15');
    expect(json.data).toHaveLength(24);
    expect(json.data[0]).toMatchObject({ bucket: '2026-03-15T00:00:00.000Z', requests: 1 });
    expect(json.data[11]).toMatchObject({ bucket: '2026-03-15T11:00:00.000Z', cost_microdollars: 5_000 });
    expect(json.data[23]).toMatchObject({ bucket: '2026-03-15T23:00:00.000Z', requests: 0 });
  });

  test('refuses more buckets than an answer should hold', async () => {
    expect((await get('/v1/usage/timeseries?bucket=hour&from=2026-01-01&to=2026-01-31')).status).toBe(200);
    for (const query of ['bucket=hour&from=2026-01-01&to=2026-02-01', 'from=1980-01-01', 'bucket=minute']) {
      const { status, json } = await get(`/v1/usage/timeseries?${query}`);
      expect([query, status, json.error]).toEqual([query, 400, 'invalid_field']);
    }
  });

  test('is empty when from lies after to', async () => {
    expect((await get('/v1/usage/timeseries?from=2026-03-02&to=2026-03-01')).json).toEqual({ data: [] });
  });
});

describe('isolation', () => {
  test('shows nothing of one tenant to another', async () => {
    const { json } = await get('/v1/usage/requests?limit=1');
    const own = json.data[0].id;
    expect((await get(`/v1/usage/requests/${own}`)).status).toBe(200);
    for (const path of [`requests/${own}`, 'by-user/ann', 'by-end-customer/acme']) {
      const foreign = await get(`/v1/usage/${path}`, stranger.token);
      const missing = await get('/v1/usage/by-user/nobody', stranger.token);
      expect([path, foreign.status, foreign.json]).toEqual([path, 404, missing.json]);
    }
    expect((await get('/v1/usage/summary', stranger.token)).json.total_requests).toBe(0);
    expect((await get('/v1/usage/requests', stranger.token)).json).toMatchObject({ data: [], total: 0 });
    for (const list of ['by-model', 'by-team', 'by-service', 'by-user', 'by-end-customer']) {
      const rows = await get(`/v1/usage/${list}?from=2025-01-01`, stranger.token);
      expect([list, rows.json]).toEqual([list, { data: [], total: 0 }]);
    }
  });

  test('asks for a token everywhere', async () => {
    for (const path of ['summary', 'requests', 'requests/x', 'by-user', 'by-user/ann', 'timeseries']) {
      expect((await gw.call('GET', `/v1/usage/${path}`)).json.error).toBe('missing_auth');
    }
  });
});

describe('a proxied call', () => {
  test('shows up in the log, the reports and the ledger with the same figures', async () => {
    const live = await startGateway();
    try {
      const owner = await live.onboard();
      const called = await live.proxy('/prov_a/v1/chat/completions', {
        key: owner.key,
        headers: {
          'x-gateway-service': 'search/eu',
          'x-gateway-user': encodeURIComponent('zoë'),
          'x-gateway-end-customer': 'acme',
          'user-agent': 'usage-test',
        },
        body: { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello' }] },
      });
      expect(called.status).toBe(200);
      await live.logged(owner.token, 1);
      const ask = async (path: string) => (await live.call('GET', path, { token: owner.token })).json;

      const row = (await ask('/v1/usage/requests')).data[0];
      expect(row).toMatchObject({ provider: 'prov_a', status_code: 200, service_name: 'search/eu' });
      expect(row.cost_microdollars).toBeGreaterThan(0);
      const detail = await ask(`/v1/usage/requests/${row.id}`);
      expect(detail).toMatchObject({
        ...row,
        end_customer: 'acme',
        sequence_number: 1,
        usage_source: 'provider',
      });
      expect(detail.cost_breakdown.length).toBeGreaterThan(0);
      const summary = await ask('/v1/usage/summary');
      expect(summary).toMatchObject({
        total_requests: 1,
        total_cost_usd: row.cost_usd,
        total_tokens_input: row.tokens_input,
        total_tokens_output: row.tokens_output,
      });
      const ledger = await ask('/v1/ledger');
      expect(ledger.data).toMatchObject([
        { request_id: row.id, cost_usd: row.cost_usd, record_hash: detail.record_hash },
      ]);
      expect(await ask('/v1/ledger/verify')).toMatchObject({ valid: true, records_checked: 1 });
      const users = await ask('/v1/usage/by-user');
      expect(users.data).toMatchObject([{ requests: 1, cost_usd: row.cost_usd }]);
      const found = await ask(`/v1/usage/by-user/${encodeURIComponent(users.data[0].user)}`);
      expect(found).toMatchObject({ user: users.data[0].user, requests: 1, cost_usd: row.cost_usd });
    } finally {
      await live.stop();
    }
  });
});
