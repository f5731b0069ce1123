import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { ClientFault, openClient } from '../../src/client/client.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { recordRequests } from './recorded-requests.ts';

let gw: Gateway;
let tenant: SignedUp;

const client = (options: Partial<Parameters<typeof openClient>[0]> = {}) =>
  openClient({ baseUrl: gw.apiUrl, token: tenant.token, ...options });

beforeAll(async () => {
  gw = await startGateway();
  tenant = await gw.signUp();
  await recordRequests(gw, tenant.tenantId, [
    { created_at: '2026-01-01T00:00:00Z', user_name: 'a/b ü%', cost_microdollars: 7 },
  ]);
});
afterAll(() => gw.stop());

/** A server that gives the same answer to everything. */
async function answering(status: number, headers: Record<string, string>, body: string) {
  const server = createServer((_request, response) => response.writeHead(status, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describe('a call', () => {
  test('answers with the data the contract types', async () => {
    const result = await client().call('getAccount');
    if (!result.ok) throw new Error(result.message);
    expectTypeOf(result.data.subscription.included_requests).toEqualTypeOf<number>();
    expect(result.data.email).toBe(tenant.email);
    expect(result.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(result.warnings).toEqual([]);
  });

  test('sends path parameters whatever they hold, and its query', async () => {
    const result = await client().call('getUsageOfUser', {
      params: { user: 'a/b ü%' },
      query: { from: '2026-01-01', to: '2026-01-01' },
    });
    expect(result).toMatchObject({ ok: true, data: { user: 'a/b ü%', cost_microdollars: 7 } });
  });

  test('sends a body and passes on what the server warns about', async () => {
    const body = { name: 'Research', colour: 'red' };
    const made = await client().call('createTeam', { body });
    expect(made).toMatchObject({ ok: true, data: { name: 'Research', slug: 'research' } });
    if (!made.ok) return;
    expect(made.warnings).toEqual(['unknown fields ignored: colour']);
    const gone = await client().call('deleteTeam', { params: { id: made.data.id } });
    expect(gone).toMatchObject({ ok: true, data: undefined });
  });

  test('gives a refusal as a value', async () => {
    const result = await client().call('getTeam', { params: { id: 'nonsense' } });
    expect(result).toMatchObject({ ok: false, status: 404, error: 'not_found', retryAfterSeconds: null });
    expect(await client({ token: undefined }).call('getAccount')).toMatchObject({
      ok: false,
      status: 401,
      error: 'missing_auth',
    });
  });

  test('shows its token only where one is asked for', async () => {
    const sent: Array<[string, string | null]> = [];
    const spy: typeof fetch = (url, init) => {
      sent.push([String(url).slice(gw.apiUrl.length), new Headers(init?.headers).get('authorization')]);
      return fetch(url, init);
    };
    await client({ fetch: spy, baseUrl: `${gw.apiUrl}//` }).call('getHealth');
    await client({ fetch: spy }).call('listTeams');
    expect(sent).toEqual([
      ['/health', null],
      ['/v1/teams', `Bearer ${tenant.token}`],
    ]);
  });

  test('will not send a parameter that would change the address', async () => {
    for (const id of ['', '.', '..']) {
      await expect(client().call('deleteTeam', { params: { id } })).rejects.toThrow(ClientFault);
    }
  });

  test('is typed: parameters, bodies and names that are wrong do not compile', () => {
    const open = client();
    // @ts-expect-error an id is needed
    void (() => open.call('getTeam'));
    // @ts-expect-error the body is needed
    void (() => open.call('createTeam', {}));
    // @ts-expect-error there is no such operation
    void (() => open.call('getTeapot'));
    // @ts-expect-error a list of teams has no CSV
    void (() => open.callCsv('listTeams'));
  });
});

describe('a file', () => {
  test('comes as bytes, with its name', async () => {
    const result = await client().callCsv('listRequests', { query: { from: '2026-01-01' } });
    if (!result.ok) throw new Error(result.message);
    expect(result.filename).toBe('requests.csv');
    const text = await new Response(result.bytes).text();
    expect(text.split('\r\n')[0]).toMatch(/^id,created_at,/);
    expect(text).toContain('a/b ü%');
  });

  test('can be refused', async () => {
    const result = await client().callCsv('listLedger', { query: { from: '2026-02-31' } });
    expect(result).toMatchObject({ ok: false, error: 'invalid_field' });
  });
});

describe('a fault', () => {
  test('is thrown when nobody answers', async () => {
    const closed = await answering(200, {}, '');
    closed.close();
    const away = client({ baseUrl: closed.url });
    await expect(away.call('getHealth')).rejects.toThrow(/^cannot reach http:.*: the connection was refused/);
    await expect(away.call('getHealth')).rejects.toBeInstanceOf(ClientFault);
  });

  test.each([
    [200, 'text/html', '<h1>It works!</h1>'],
    [502, 'text/html', '<h1>Bad gateway</h1>'],
    [404, 'application/json', '{"detail":"nope"}'],
    [404, 'application/json', 'null'],
  ])('is thrown when something else answers %s %s %s', async (status, type, body) => {
    const other = await answering(status, { 'content-type': type }, body);
    await expect(client({ baseUrl: other.url }).call('listTeams')).rejects.toBeInstanceOf(ClientFault);
    other.close();
  });

  test('is thrown at a redirect: the token stays with the address it was meant for', async () => {
    const other = await answering(302, { location: `${gw.apiUrl}/v1/teams` }, '');
    await expect(client({ baseUrl: other.url }).call('listTeams')).rejects.toBeInstanceOf(ClientFault);
    other.close();
  });

  test('is not made of a call that its caller gave up', async () => {
    const signal = AbortSignal.abort();
    await expect(client().call('listTeams', { signal })).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('is told apart from a server that says when to come back', async () => {
    const busy = await answering(429, { 'retry-after': '17' }, '{"error":"rate_limited","message":"Wait."}');
    expect(await client({ baseUrl: busy.url }).call('listTeams')).toMatchObject({
      ok: false,
      status: 429,
      retryAfterSeconds: 17,
    });
    busy.close();
  });
});
