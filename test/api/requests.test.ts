import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { recordRequests } from './recorded-requests.ts';

const TEAM = '019ce000-0000-7000-8000-00000000000a';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FIRST_DAY = Date.parse('2026-01-05T00:00:00Z');

let gw: Gateway;
let tenant: SignedUp;
/** Oldest first, with what the filters look at. */
let log: Array<{
  id: string;
  model: string | null;
  team: string | null;
  service: string | null;
  status: number;
  user: string | null;
  customer: string | null;
  day: string;
}>;

const get = (path: string) => gw.call('GET', path, { token: tenant.token });
const idsOf = (rows: Array<{ id: string }>) => rows.map((row) => row.id);

beforeAll(async () => {
  gw = await startGateway();
  tenant = await gw.signUp();
  // Uneven on purpose: quiet days, an hour with many requests, a rare model, the last instant of an hour.
  const plan = Array.from({ length: 400 }, (_, n) => {
    const burst = n >= 200 && n < 300;
    const atMs = burst
      ? FIRST_DAY + 20 * DAY_MS + n * 1_000
      : FIRST_DAY + Math.floor(n / 10) * DAY_MS + (n % 10) * 40 * 60_000 + (n % 10 === 9 ? HOUR_MS - 1 : 0);
    return {
      created_at: new Date(atMs).toISOString(),
      model_id: n % 97 === 3 ? 'rare' : n % 5 === 0 ? null : `model-${n % 3}`,
      team_id: n % 4 === 0 ? TEAM : null,
      service_name: n % 7 === 0 ? 'api' : null,
      status_code: n % 11 === 0 ? 429 : 200,
      // Names that are another's in the other column, so that the two cannot be mistaken for one another.
      user_name: n % 3 === 0 ? null : `u${n % 2}`,
      end_customer: n % 6 === 1 ? 'u1' : null,
      cost_microdollars: n,
    };
  });
  const ids = await recordRequests(gw, tenant.tenantId, plan);
  log = plan
    .map((row, n) => ({
      id: ids[n]!,
      model: row.model_id,
      team: row.team_id,
      service: row.service_name,
      status: row.status_code,
      user: row.user_name,
      customer: row.end_customer,
      day: row.created_at.slice(0, 10),
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
});
afterAll(() => gw.stop());

const FILTERS: Array<[string, (row: (typeof log)[number]) => boolean]> = [
  ['', () => true],
  ['model=model-1', (row) => row.model === 'model-1'],
  ['model=rare', (row) => row.model === 'rare'],
  ['model=unknown', (row) => row.model === null],
  ['model=nobody', () => false],
  [`team_id=${TEAM}`, (row) => row.team === TEAM],
  ['service=api&status=429', (row) => row.service === 'api' && row.status === 429],
  [
    'status=429&from=2026-01-20&to=2026-01-25',
    (row) => row.status === 429 && row.day >= '2026-01-20' && row.day <= '2026-01-25',
  ],
  [
    `team_id=${TEAM}&model=model-2&to=2026-01-26`,
    (row) => row.team === TEAM && row.model === 'model-2' && row.day <= '2026-01-26',
  ],
  ['user=u1', (row) => row.user === 'u1'],
  ['end_customer=u1', (row) => row.customer === 'u1'],
  ['user=nobody', () => false],
  [
    'user=u0&model=model-1&from=2026-01-20&to=2026-01-25',
    (row) =>
      row.user === 'u0' && row.model === 'model-1' && row.day >= '2026-01-20' && row.day <= '2026-01-25',
  ],
  [
    `end_customer=u1&service=api&team_id=${TEAM}`,
    (row) => row.customer === 'u1' && row.service === 'api' && row.team === TEAM,
  ],
  ['user=u1&status=429', (row) => row.user === 'u1' && row.status === 429],
  [
    'end_customer=u1&status=200&to=2026-01-26',
    (row) => row.customer === 'u1' && row.status === 200 && row.day <= '2026-01-26',
  ],
  ['user=u1&end_customer=u1', (row) => row.user === 'u1' && row.customer === 'u1'],
  ['user=u0&status=503', () => false],
];

describe('the request log', () => {
  test.each(FILTERS)('pages exactly through what matches "%s", newest first', async (filter, matches) => {
    const expected = idsOf(log.filter(matches)).reverse();
    for (const limit of [7, 50, 500]) {
      const found: string[] = [];
      for (let offset = 0; offset === 0 || offset < expected.length; offset += limit) {
        const { status, json } = await get(`/v1/usage/requests?${filter}&limit=${limit}&offset=${offset}`);
        expect(status).toBe(200);
        expect(json).toMatchObject({ total: expected.length, limit, offset });
        found.push(...idsOf(json.data));
      }
      expect(found).toEqual(expected);
    }
  });

  test('still says how many there are past its end, and with a limit of nothing', async () => {
    expect((await get('/v1/usage/requests?offset=5000')).json).toMatchObject({ data: [], total: 400 });
    expect((await get('/v1/usage/requests?limit=0')).json).toMatchObject({ data: [], total: 400, limit: 0 });
  });

  test('gives fifty at a time, five hundred at most', async () => {
    expect((await get('/v1/usage/requests')).json).toMatchObject({ limit: 50, offset: 0 });
    expect((await get('/v1/usage/requests?limit=100000')).json.limit).toBe(500);
    for (const query of ['limit=-1', 'offset=-1', 'limit=many', 'offset=1.5', 'status=20', 'format=xml']) {
      const { status, json } = await get(`/v1/usage/requests?${query}`);
      expect([query, status, json.error]).toEqual([query, 400, 'invalid_field']);
    }
  });

  test('does not count what retention has taken away', async () => {
    const other = await gw.signUp();
    await recordRequests(gw, other.tenantId, [
      { created_at: '2020-05-31T23:00:00Z' },
      { created_at: '2020-06-01T00:00:00Z' },
    ]);
    await gw.sql('drop table requests_2020_05');
    const { json } = await gw.call('GET', '/v1/usage/requests', { token: other.token });
    expect([json.total, json.data.length]).toEqual([1, 1]);
  });
});

describe('the export', () => {
  test('has the rows of the list, with whom they were for', async () => {
    const answer = await get('/v1/usage/requests?format=csv&model=rare');
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="requests.csv"');
    const [header, ...lines] = answer.text.trimEnd().split('\r\n');
    expect(header).toBe(
      'id,created_at,provider,model_id,tokens_input,tokens_output,cost_microdollars,cost_usd,latency_total_ms,status_code,team_id,service_name,cost_status,usage_source,user,end_customer,agent,environment,endpoint,model_requested',
    );
    const { json } = await get('/v1/usage/requests?model=rare');
    expect(lines.map((line) => line.split(',')[0])).toEqual(idsOf(json.data));
    expect(lines[0]).toContain(`,${json.data[0].cost_usd},`);
  });

  test.each(FILTERS)('is every match of "%s" in order, whatever its batches', async (filter, matches) => {
    const { text } = await get(`/v1/usage/requests?format=csv&${filter}`);
    const ids = text
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[0]);
    expect(ids).toEqual(idsOf(log.filter(matches)).reverse());
  });

  test('ends after ten thousand rows, crowded hours and all', async () => {
    const busy = await gw.signUp();
    await recordRequests(
      gw,
      busy.tenantId,
      Array.from({ length: 10_500 }, (_, n) => ({
        created_at: new Date(FIRST_DAY + Math.floor(n / 3_500) * 3_600_000 + (n % 3_500)).toISOString(),
        user_name: n === 10_499 ? '=cmd()' : 'u',
      })),
    );
    const { text } = await gw.call('GET', '/v1/usage/requests?format=csv', { token: busy.token });
    const lines = text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(10_001);
    expect(new Set(lines).size).toBe(10_001);
    expect(lines[1]).toContain(",'=cmd(),");
  });
});

describe('one request', () => {
  test('is told in full', async () => {
    const other = await gw.signUp();
    const [price] = await gw.sql<{ id: string }>(
      `select prices.id from prices join models on models.id = prices.model where model_id = 'gpt-5'`,
    );
    const [id] = await recordRequests(gw, other.tenantId, [
      {
        created_at: '2026-02-01T10:00:00.123Z',
        user_name: 'ann',
        end_customer: 'acme',
        agent: 'planner',
        tags: { run: '7' },
        headers: { 'user-agent': 'curl' },
        price_id: price!.id,
        cost_microdollars: 313,
        service_tier: 'flex',
        anomalies: ['clamped'],
        team_id: TEAM,
        team_slug: 'search',
        service_name: 'api',
      },
    ]);
    const { status, json } = await gw.call('GET', `/v1/usage/requests/${id}`, { token: other.token });
    expect(status).toBe(200);
    const [record] = await gw.sql<{ record_hash: string }>(
      'select record_hash from ledger_records where tenant_id = $1',
      [other.tenantId],
    );
    expect(json).toMatchObject({
      id,
      created_at: '2026-02-01T10:00:00.123Z',
      provider: 'prov_a',
      model_id: 'gpt-5',
      model_requested: 'gpt-5',
      model_family: 'gpt-5',
      endpoint: '/v1/chat/completions',
      method: 'POST',
      stream: false,
      environment: 'production',
      cost_usd: '0.000313',
      cost_status: 'priced',
      usage_source: 'provider',
      latency_first_byte_ms: 100,
      team_id: TEAM,
      service_name: 'api',
      user: 'ann',
      end_customer: 'acme',
      agent: 'planner',
      tags: { run: '7' },
      headers: { 'user-agent': 'curl' },
      usage: { input: 100, output: 50, cached_read: 0 },
      cost_breakdown: [
        { bucket: 'input', quantity: 100, unit: 'tokens', rate_usd: '0.625', cost_usd: '0.0000625' },
        { bucket: 'output', quantity: 50, unit: 'tokens', rate_usd: '5', cost_usd: '0.00025' },
      ],
      service_tier: 'flex',
      price_id: price!.id,
      interrupted: false,
      refusal: null,
      anomalies: ['clamped'],
      sequence_number: 1,
      record_hash: record!.record_hash,
    });
    expect(json).not.toHaveProperty('tenant_id');
    expect(json).not.toHaveProperty('user_name');
  });

  test.each(['nonsense', '019ce000-0000-7000-8000-000000000000', '%00', "'"])(
    '%s is not there',
    async (id) => {
      const { status, json } = await get(`/v1/usage/requests/${id}`);
      expect([status, json.error]).toEqual([404, 'not_found']);
    },
  );
});
