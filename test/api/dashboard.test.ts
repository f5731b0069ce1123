import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';

let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway();
});
afterAll(() => gw.stop());

const AS_DASHBOARD = { 'x-gateway-dashboard': '1' };
const HTML = { accept: 'text/html,application/xhtml+xml' };

describe('the page', () => {
  test('is served at / and at every address of its own, and allows nothing but itself', async () => {
    for (const path of ['/', '/budgets', '/requests/0190-any', '/reset-password?token=x']) {
      const answer = await gw.call('GET', path, { headers: HTML });
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ]);
      const policy = answer.headers.get('content-security-policy')!;
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(answer.text).not.toMatch(/<script(?![^>]+src=)|<style|\sstyle=|\son\w+=/);
    }
  });

  test('names no address but its own', async () => {
    const { text } = await gw.call('GET', '/', { headers: HTML });
    expect([...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]![0])).not.toContain('h');
  });

  test('does not stand in for what programs ask', async () => {
    expect((await gw.call('GET', '/v1/nothing', { headers: HTML })).json.error).toBe('not_found');
    expect((await gw.call('GET', '/budgets', { headers: { accept: 'application/json' } })).status).toBe(404);
    expect((await gw.call('POST', '/budgets', { headers: HTML })).status).toBe(404);
    expect((await gw.call('GET', '/assets/gone.js', { headers: HTML })).status).toBe(404);
  });

  test('its hashed files are kept for good and come compressed as the browser can', async () => {
    const { text } = await gw.call('GET', '/', { headers: HTML });
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(text)![1]!;
    for (const encoding of ['br', 'gzip']) {
      const answer = await gw.call('GET', script, { headers: { 'accept-encoding': encoding } });
      expect(answer.headers.get('content-encoding')).toBe(encoding);
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    }
    const plain = await gw.call('GET', script, { headers: { 'accept-encoding': 'br;q=0, gzip;q=0' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
  });
});

describe('the session cookie', () => {
  async function logIn(): Promise<{ cookie: string; attributes: string }> {
    const { email, password } = await gw.signUp();
    const answer = await gw.call('POST', '/v1/auth/login', {
      body: { email, password },
      headers: AS_DASHBOARD,
    });
    expect(answer.status).toBe(200);
    expect(answer.json).not.toHaveProperty('token');
    const attributes = answer.headers.get('set-cookie')!;
    return { cookie: attributes.split(';')[0]!, attributes };
  }
  const account = (headers: Record<string, string>) => gw.call('GET', '/v1/account', { headers });

  test('holds the token where no script can read it, and ends with it', async () => {
    const { attributes, cookie } = await logIn();
    expect(attributes).toMatch(/; Path=\/v1; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    expect((await account({ ...AS_DASHBOARD, cookie })).status).toBe(200);
  });

  test('is Secure when the page is', async () => {
    const { email, password } = await gw.signUp();
    const headers = { ...AS_DASHBOARD, origin: 'https://gateway.example' };
    const answer = await gw.call('POST', '/v1/auth/login', { body: { email, password }, headers });
    expect(answer.headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  test('counts for nothing without the header that other sites cannot send, or from their pages', async () => {
    const { cookie } = await logIn();
    expect((await account({ cookie })).json.error).toBe('missing_auth');
    for (const site of ['cross-site', 'same-site', 'none']) {
      expect((await account({ ...AS_DASHBOARD, cookie, 'sec-fetch-site': site })).status).toBe(401);
    }
    expect((await account({ ...AS_DASHBOARD, cookie, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  });

  test('is no operator', async () => {
    const { cookie } = await logIn();
    expect(
      (await gw.call('GET', '/v1/operator/stats', { headers: { ...AS_DASHBOARD, cookie } })).status,
    ).toBe(401);
  });

  test('goes with the log-out, and what it held is refused from then on', async () => {
    const { cookie } = await logIn();
    const out = await gw.call('POST', '/v1/auth/logout', { headers: { ...AS_DASHBOARD, cookie } });
    expect(out.headers.get('set-cookie')).toMatch(/^gateway_session=; .*Max-Age=0/);
    expect((await account({ ...AS_DASHBOARD, cookie })).status).toBe(401);
  });

  test('is exchanged by a refresh and by a new password, without showing the new token', async () => {
    const { cookie } = await logIn();
    const refreshed = await gw.call('POST', '/v1/auth/refresh', { headers: { ...AS_DASHBOARD, cookie } });
    expect(Object.keys(refreshed.json)).toEqual(['expires_at']);
    expect(refreshed.headers.get('set-cookie')).toMatch(/^gateway_session=eyJ/);
    const changed = await gw.call('PUT', '/v1/account', {
      headers: { ...AS_DASHBOARD, cookie },
      body: { current_password: 'correct horse', new_password: 'a better battery' },
    });
    expect(changed.json).not.toHaveProperty('token');
    const renewed = changed.headers.get('set-cookie')!.split(';')[0]!;
    expect((await account({ ...AS_DASHBOARD, cookie })).status).toBe(401);
    expect((await account({ ...AS_DASHBOARD, cookie: renewed })).status).toBe(200);
  });

  test('is for the dashboard alone: other clients get their token as ever', async () => {
    const { email, password } = await gw.signUp();
    const answer = await gw.call('POST', '/v1/auth/login', { body: { email, password } });
    expect(answer.json.token).toMatch(/^eyJ/);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });
});
