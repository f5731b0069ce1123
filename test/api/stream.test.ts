import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { raiseAlert } from '../../src/server/store/alerts.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { appendEventToTail } from '../../src/server/store/tail.ts';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { openTail, type TailReader } from './tail-reader.ts';
import { makeTailTraffic, type TailTraffic } from './tail-traffic.ts';

let gw: Gateway;
let other: Gateway;
let database: Database;
let traffic: TailTraffic;
const open: TailReader[] = [];

beforeAll(async () => {
  gw = await startGateway();
  other = await startGateway({ databaseUrl: gw.databaseUrl, simulator: gw.simulator });
  database = openDatabase({ url: gw.databaseUrl, name: 'test', connections: 2, onIdleError: () => {} });
  traffic = makeTailTraffic(gw, database);
});
afterEach(() => {
  vi.useRealTimers();
  for (const reader of open.splice(0)) reader.close();
});
afterAll(async () => {
  await database.close();
  await other.stop();
  await gw.stop();
});

async function tail(
  token: string,
  options: { node?: Gateway; query?: string; lastEventId?: string } = {},
): Promise<TailReader> {
  const reader = await openTail((options.node ?? gw).apiUrl, token, options);
  open.push(reader);
  if (reader.status === 200) await reader.until('heartbeat', 1);
  return reader;
}

const CHAT = '/prov_a/v1/chat/completions';
const chat = (key: string, headers: Record<string, string> = {}, model = 'gpt-4o-mini') =>
  gw.proxy(CHAT, { key, headers, body: { model, messages: [{ role: 'user', content: 'hi' }] } });

const idsOf = (reader: TailReader) => reader.of('request').map(({ data }) => data.id);

describe('the live tail', () => {
  it('tells of every proxied request, the refused ones too, with the figures of the log', async () => {
    const { key, token } = await gw.onboard();
    const reader = await tail(token);
    expect(reader.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    await chat(key, { 'x-gateway-service': 'search', 'x-gateway-user': 'ann' });
    const [first] = await reader.until('request', 1);
    const { json: log } = await gw.call('GET', '/v1/usage/requests', { token });
    const row = log.data[0];
    expect(first!.id).toMatch(/^\d+$/);
    expect(first!.data).toEqual({
      type: 'request',
      id: row.id,
      provider: 'prov_a',
      model_id: row.model_id,
      model_requested: 'gpt-4o-mini',
      tokens_input: row.tokens_input,
      tokens_output: row.tokens_output,
      cost_microdollars: row.cost_microdollars,
      cost_usd: row.cost_usd,
      team: null,
      service: 'search',
      user: 'ann',
      end_customer: null,
      agent: null,
      environment: 'production',
      status_code: 200,
      latency_ms: row.latency_total_ms,
      created_at: row.created_at,
    });
    await gw.call('POST', '/v1/kill', { token, body: { scope_type: 'all', scope_value: '*' } });
    expect((await chat(key)).status).toBe(451);
    const [, refused] = await reader.until('request', 2);
    expect(refused!.data).toMatchObject({ status_code: 451, cost_microdollars: 0 });
  });

  it('shows a tenant nothing of another', async () => {
    const [mine, theirs] = [await gw.signUp(), await gw.signUp()];
    const reader = await tail(mine.token);
    await traffic.record(theirs.tenantId, 3);
    const own = await traffic.record(mine.tenantId, 1);
    await reader.until('request', 1);
    expect(idsOf(reader)).toEqual(own);
  });

  it('is for callers with a token', async () => {
    expect((await gw.call('GET', '/v1/stream/tail')).json.error).toBe('missing_auth');
    expect((await gw.call('GET', '/v1/stream/tail', { token: 'x' })).json.error).toBe('invalid_token');
  });

  it('refuses filters that are none', async () => {
    const { token } = await gw.signUp();
    for (const query of ['min_cost=-1', 'min_cost=1.5', 'min_cost=x', 'team=%00']) {
      const { status, json } = await gw.call('GET', `/v1/stream/tail?${query}`, { token });
      expect([query, status, json.error]).toEqual([query, 400, 'invalid_field']);
    }
  });

  it('answers HEAD with its headers alone', async () => {
    const { token } = await gw.signUp();
    const { status, text, headers } = await gw.call('HEAD', '/v1/stream/tail', { token });
    expect([status, text]).toEqual([200, '']);
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  });
});

describe('filters', () => {
  it('narrow requests by team, service, model and cost, and all at once', async () => {
    const { token, tenantId } = await gw.signUp();
    const { json: team } = await gw.call('POST', '/v1/teams', { token, body: { name: 'Data Science' } });
    const search = { team_id: team.id, team_slug: team.slug, service_name: 'search' };
    const costly = { model_requested: 'gpt-5', model_id: 'gpt-5-2025-08-07', cost_microdollars: 900 };
    const queries = [
      '',
      'team=Data%20Science',
      'team=data-science',
      `team=${team.id}`,
      'team=Nobody',
      'service=search',
      'model=gpt-5',
      'model=gpt-5-2025-08-07',
      'min_cost=900',
      'team=data-science&service=search&model=gpt-5&min_cost=900',
    ];
    const readers = await Promise.all(queries.map((query) => tail(token, { query: `?${query}` })));
    const [plain] = await traffic.record(tenantId, 1, { cost_microdollars: 5 });
    const [ofTeam] = await traffic.record(tenantId, 1, { ...search, cost_microdollars: 899 });
    const [expensive] = await traffic.record(tenantId, 1, costly);
    const [both] = await traffic.record(tenantId, 1, { ...search, ...costly });
    await readers[0]!.until('request', 4);
    await readers.at(-1)!.until('request', 1);
    expect(Object.fromEntries(readers.map((reader, index) => [queries[index], idsOf(reader)]))).toEqual({
      '': [plain, ofTeam, expensive, both],
      'team=Data%20Science': [ofTeam, both],
      'team=data-science': [ofTeam, both],
      [`team=${team.id}`]: [ofTeam, both],
      'team=Nobody': [],
      'service=search': [ofTeam, both],
      'model=gpt-5': [plain, ofTeam, expensive, both],
      'model=gpt-5-2025-08-07': [expensive, both],
      'min_cost=900': [expensive, both],
      'team=data-science&service=search&model=gpt-5&min_cost=900': [both],
    });
  });

  it('hide no alert', async () => {
    const { token, tenantId } = await gw.signUp();
    const reader = await tail(token, { query: '?team=Nobody&min_cost=1000000' });
    await database.asSystem((db) =>
      raiseAlert(db, {
        tenantId,
        type: 'cost_anomaly',
        severity: 'warning',
        title: 'Unusual spend',
        metadata: { score: 7 },
        cause: 'test',
      }),
    );
    const [told] = await reader.until('alert', 1);
    const { json: alerts } = await gw.call('GET', '/v1/alerts', { token });
    expect(told!.data).toEqual({ type: 'alert', ...alerts.data[0] });
  });
});

describe('heartbeats', () => {
  it('come every 15 seconds', async () => {
    const { token } = await gw.signUp();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const reader = await tail(token);
    for (const count of [2, 3, 4]) {
      vi.advanceTimersByTime(14_999);
      await sleep(50);
      expect(reader.of('heartbeat')).toHaveLength(count - 1);
      vi.advanceTimersByTime(1);
      await reader.until('heartbeat', count);
    }
  });

  it.each([
    ['logged out', (token: string) => gw.call('POST', '/v1/auth/logout', { token })],
    ['closed the account', (token: string) => gw.call('DELETE', '/v1/account', { token })],
  ])('end a stream whose caller has %s', async (_what, leave) => {
    const { token } = await gw.signUp();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const reader = await tail(token);
    vi.advanceTimersByTime(15_000);
    await reader.until('heartbeat', 2);
    await leave(token);
    vi.advanceTimersByTime(15_000);
    await reader.ended;
  });
});

describe('resuming', () => {
  it('after a cut misses nothing and repeats nothing, on another node too', async () => {
    const { token, tenantId } = await gw.signUp();
    const before = await tail(token);
    const seen = await traffic.record(tenantId, 7);
    await before.until('request', 7);
    before.close();
    const missed = await traffic.record(tenantId, 30);
    for (const node of [gw, other]) {
      const after = await tail(token, { node, lastEventId: before.lastId() });
      await after.until('request', 30);
      expect([...seen, ...idsOf(after)]).toEqual([...seen, ...missed]);
      after.close();
    }
  });

  it('works from the first heartbeat on, before any event', async () => {
    const { token, tenantId } = await gw.signUp();
    await traffic.record(tenantId, 4);
    const before = await tail(token);
    before.close();
    const missed = await traffic.record(tenantId, 2);
    const after = await tail(token, { lastEventId: before.lastId() });
    await after.until('request', 2);
    expect(idsOf(after)).toEqual(missed);
  });

  it('reaches over the last 1,000 events and says how many lie further back', async () => {
    const { token, tenantId } = await gw.signUp();
    const ids = await traffic.record(tenantId, 1_130);
    const reader = await tail(token, { lastEventId: '30' });
    await reader.until('request', 1_000);
    expect(idsOf(reader)).toEqual(ids.slice(130));
    expect(reader.received[0]).toEqual({ id: '130', event: 'gap', data: { type: 'gap', missed: 100 } });
  });

  it.each(['nonsense', '-1', '999999', ''])(
    'after the id “%s”, which was never given out, begins with what comes next',
    async (lastEventId) => {
      const { token, tenantId } = await gw.signUp();
      await traffic.record(tenantId, 3);
      const reader = await tail(token, { lastEventId });
      const next = await traffic.record(tenantId, 1);
      await reader.until('request', 1);
      expect(idsOf(reader)).toEqual(next);
    },
  );

  it('in the middle of traffic joins without a gap or a double', async () => {
    const { token, tenantId } = await gw.signUp();
    let writing = true;
    const written: string[] = [];
    const writer = (async () => {
      while (writing) written.push(...(await traffic.record(tenantId, 5)));
    })();
    // Those who are there already keep their nodes a little behind what a newcomer reads for itself.
    const anchors = [
      await tail(token, { lastEventId: '0' }),
      await tail(token, { node: other, lastEventId: '0' }),
    ];
    for (let round = 0; round < 8; round++) {
      const after = Math.max(0, written.length - 40);
      const reader = await tail(token, { node: round % 2 ? gw : other, lastEventId: String(after) });
      await reader.until('request', written.length - after + 20);
      reader.close();
      const ids = idsOf(reader);
      expect(ids).toEqual(written.slice(after, after + ids.length));
    }
    writing = false;
    await writer;
    for (const anchor of anchors) {
      await anchor.until('request', written.length);
      expect(idsOf(anchor)).toEqual(written);
    }
  });
});

describe('events that become visible late', () => {
  it('are told in the order of their commits, so that a long request is not lost to a resume', async () => {
    const { token, tenantId } = await gw.signUp();
    const [early] = await traffic.prepare(tenantId, 1);
    const reader = await tail(token);
    const [late] = await traffic.record(tenantId, 1);
    await reader.until('request', 1);
    reader.close();
    await traffic.append(tenantId, [early!]);
    const again = await tail(token, { lastEventId: reader.lastId() });
    await again.until('request', 1);
    expect([...idsOf(reader), ...idsOf(again)]).toEqual([late, early]);
  });

  it('have one place each, however often they are delivered', async () => {
    const { token, tenantId } = await gw.signUp();
    const reader = await tail(token);
    await database.asSystem((db) =>
      raiseAlert(db, {
        tenantId,
        type: 'model_change',
        severity: 'info',
        title: 'once',
        metadata: {},
        cause: 'c',
      }),
    );
    await reader.until('alert', 1);
    const [event] = await gw.sql<{ id: string }>('select id from events where tenant_id = $1', [tenantId]);
    await database.asTenant(tenantId, (db) => appendEventToTail(db, tenantId, event!.id));
    await traffic.record(tenantId, 1);
    await reader.until('request', 1);
    expect(reader.of('alert')).toHaveLength(1);
  });
});

describe('readers', () => {
  it('on every node hear what any node records', async () => {
    const { token, key } = await gw.onboard();
    const readers = [await tail(token), await tail(token, { node: other })];
    await chat(key);
    await other.proxy(CHAT, { key, body: { model: 'gpt-4o-mini', messages: [] } });
    for (const reader of readers) await reader.until('request', 2);
    expect(idsOf(readers[0]!)).toEqual(idsOf(readers[1]!));
  });

  it('go on after the database was away, and miss nothing', async () => {
    const { token, tenantId } = await gw.signUp();
    const reader = await tail(token);
    const first = await traffic.record(tenantId, 2);
    await reader.until('request', 2);
    const second = await traffic.prepare(tenantId, 2);
    const outside = new pg.Client({ connectionString: inject('postgresUrl') });
    await outside.connect();
    const name = new URL(gw.databaseUrl).pathname.slice(1);
    await outside.query(`alter database ${name} allow_connections false`);
    await outside.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = $1 and application_name = 'gateway-api'`,
      [name],
    );
    await traffic.append(tenantId, second);
    // Long enough for several looks to fail.
    await sleep(800);
    await outside.query(`alter database ${name} allow_connections true`);
    await outside.end();
    await reader.until('request', 4);
    expect(idsOf(reader)).toEqual([...first, ...second]);
  });

  it('are at most 100 of one account, and a seat that is left is free again', async () => {
    const { token } = await gw.signUp();
    const readers = await Promise.all(Array.from({ length: 100 }, () => tail(token)));
    const refused = await gw.call('GET', '/v1/stream/tail', { token });
    expect([refused.status, refused.json.error]).toEqual([429, 'too_many_readers']);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    readers[0]!.close();
    await eventually(async () => expect((await tail(token)).status).toBe(200));
  });

  it('end when their node stops', async () => {
    const { token } = await gw.signUp();
    const node = await startGateway({ databaseUrl: gw.databaseUrl, simulator: gw.simulator });
    const reader = await tail(token, { node });
    await node.stop();
    await reader.ended;
  });
});
