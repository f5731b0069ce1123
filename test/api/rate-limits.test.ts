import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { startReceiver } from '../receiver.ts';

const LIMITS = { GATEWAY_RATE_SIGNUP: '3', GATEWAY_RATE_LOGIN: '4', GATEWAY_RATE_FORGOT: '2' };

const signupAs = (gw: Gateway, headers: Record<string, string> = {}) =>
  gw.call('POST', '/v1/auth/signup', { body: {}, headers });
const loginAs = (gw: Gateway, headers: Record<string, string> = {}) =>
  gw.call('POST', '/v1/auth/login', { body: { email: 'nobody@example.com', password: 'guess' }, headers });
const forgotAs = (gw: Gateway, headers: Record<string, string> = {}) =>
  gw.call('POST', '/v1/auth/forgot-password', { body: { email: 'nobody@example.com' }, headers });

describe('the limit of attempts per address', () => {
  let gw: Gateway;
  let clockAheadMs = 0;
  beforeAll(async () => {
    gw = await startGateway({ env: LIMITS, nowMs: () => Date.now() + clockAheadMs });
  });
  afterAll(() => gw.stop());

  it.each([
    ['sign-ups', 3, 400, signupAs],
    ['log-ins', 4, 401, loginAs],
    ['forgotten passwords', 2, 200, forgotAs],
  ])('lets so many %s through, then says when to come back', async (_what, allowed, normal, attempt) => {
    for (let count = 0; count < allowed; count++) expect((await attempt(gw)).status).toBe(normal);
    const refused = await attempt(gw);
    expect([refused.status, refused.json.error]).toEqual([429, 'rate_limited']);
    const waitSeconds = Number(refused.headers.get('retry-after'));
    expect(waitSeconds).toBeGreaterThan(0);
    expect(waitSeconds).toBeLessThanOrEqual(60);
    clockAheadMs += waitSeconds * 1000;
    expect((await attempt(gw)).status).toBe(normal);
  });

  it('is not moved by any header a client can send', async () => {
    clockAheadMs += 60_000;
    const claims = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'x-client-ip', 'cf-connecting-ip'];
    const statuses: number[] = [];
    for (let count = 0; count < 10; count++) {
      const address = `203.0.113.${count}`;
      const value = { forwarded: `for=${address}` };
      const headers = Object.fromEntries(
        claims.map((name) => [name, name in value ? value.forwarded : address]),
      );
      statuses.push((await loginAs(gw, headers)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429, 429, 429, 429, 429]);
  });
});

describe('the limit of test messages and replays per account', () => {
  let gw: Gateway;
  let clockAheadMs = 0;
  beforeAll(async () => {
    gw = await startGateway({
      env: { GATEWAY_RATE_TEST: '4', GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1' },
      nowMs: () => Date.now() + clockAheadMs,
    });
  });
  afterAll(() => gw.stop());

  it('is one for webhooks and alerts, counts nobody else, and sends nothing past it', async () => {
    const receiver = await startReceiver();
    const { token } = await gw.signUp();
    const post = (path: string, body?: unknown) => gw.call('POST', path, { token, body });
    const made = await post('/v1/webhooks', { url: receiver.url, event_types: ['alert.all'] });
    const webhook = `/v1/webhooks/${made.json.id}`;
    const first = await post(`${webhook}/test`);
    const replay = `${webhook}/deliveries/${first.json.delivery_id}/replay`;
    for (const path of [replay, replay, '/v1/alerts/test']) expect((await post(path)).status).toBe(200);
    for (const path of [`${webhook}/test`, replay, '/v1/alerts/test']) {
      const refused = await post(path);
      expect([refused.status, refused.json.error]).toEqual([429, 'rate_limited']);
      expect(refused.json.message).toContain('of this account');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(receiver.received).toHaveLength(3);
    const { token: stranger } = await gw.signUp();
    expect((await gw.call('POST', '/v1/alerts/test', { token: stranger })).status).toBe(200);
    expect((await gw.call('POST', '/v1/alerts/test')).status).toBe(401);
    clockAheadMs += 60_000;
    expect((await post(`${webhook}/test`)).json.status).toBe('succeeded');
    await receiver.close();
  });
});

describe('behind a trusted proxy', () => {
  let gw: Gateway;
  beforeAll(async () => {
    gw = await startGateway({ env: { ...LIMITS, GATEWAY_TRUSTED_PROXIES: '127.0.0.1/32,10.0.0.0/8' } });
  });
  afterAll(() => gw.stop());

  it('each client has a limit of its own, counted at the last hop that is not trusted', async () => {
    const from = async (forwarded: string) => (await loginAs(gw, { 'x-forwarded-for': forwarded })).status;
    for (let count = 0; count < 4; count++) expect(await from(`198.51.100.${count}, 203.0.113.7`)).toBe(401);
    expect(await from('198.51.100.99, 203.0.113.7')).toBe(429);
    expect(await from('198.51.100.99, 203.0.113.7, 10.1.2.3')).toBe(429);
    expect(await from('203.0.113.8')).toBe(401);
  });

  it('a client cannot escape by walking through its own IPv6 network', async () => {
    const statuses: number[] = [];
    for (let host = 1; host <= 5; host++) {
      statuses.push((await loginAs(gw, { 'x-forwarded-for': `2001:db8:1:2::${host}` })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 429]);
    expect((await loginAs(gw, { 'x-forwarded-for': '2001:db8:1:3::1' })).status).toBe(401);
  });

  it('the audit shows the client, not the proxy', async () => {
    const answer = await gw.call('POST', '/v1/auth/signup', {
      body: { name: 'Acme', email: 'ip@example.com', password: 'longenough' },
      headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.20' },
    });
    const [row] = await gw.sql('select ip_address from audit_entries where tenant_id = $1', [
      answer.json.tenant_id,
    ]);
    expect(row!.ip_address).toBe('203.0.113.20');
  });
});
