import { createHash, createHmac } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';

const JWT_SECRET = 'a-jwt-secret-that-the-tests-know-too-0123456789';
const HOUR_MS = 3_600_000;

let gw: Gateway;
let clockAheadMs = 0;

beforeAll(async () => {
  gw = await startGateway({
    env: { GATEWAY_JWT_SECRET: JWT_SECRET },
    nowMs: () => Date.now() + clockAheadMs,
  });
});
afterAll(() => gw.stop());

const post = (path: string, body: unknown) => gw.call('POST', path, { body });
const login = (email: string, password: string) => post('/v1/auth/login', { email, password });
const accountStatus = async (token: string) => (await gw.call('GET', '/v1/account', { token })).status;

async function actionsOf(tenantId: string): Promise<string[]> {
  const rows = await gw.sql('select action from audit_entries where tenant_id = $1 order by id', [tenantId]);
  return rows.map((row) => row.action as string);
}

describe('signing up', () => {
  it('opens an active account on the free plan and logs in', async () => {
    const answer = await post('/v1/auth/signup', {
      name: '  Acme  ',
      email: 'Founder@Acme.example',
      password: '8 chars!',
    });
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.json).sort()).toEqual(['email', 'plan_tier', 'tenant_id', 'token']);
    expect(answer.json).toMatchObject({ email: 'Founder@Acme.example', plan_tier: 'free' });
    const account = await gw.call('GET', '/v1/account', { token: answer.json.token });
    expect(account.json).toMatchObject({ name: 'Acme', status: 'active', tenant_id: answer.json.tenant_id });
    expect(await actionsOf(answer.json.tenant_id)).toEqual(['tenant.signed_up']);
  });

  it.each([
    [{ email: 'a@b.co', password: 'longenough' }, 'name_required'],
    [{ name: '', email: 'a@b.co', password: 'longenough' }, 'name_required'],
    [{ name: ' \t ', email: 'a@b.co', password: 'longenough' }, 'name_required'],
    [{ name: 'A', password: 'longenough' }, 'invalid_email'],
    [{ name: 'A', email: 'a.b.co', password: 'longenough' }, 'invalid_email'],
    [{ name: 'A', email: 'a@b@c.co', password: 'longenough' }, 'invalid_email'],
    [{ name: 'A', email: 'a@bco', password: 'longenough' }, 'invalid_email'],
    [{ name: 'A', email: 'a b@c.co', password: 'longenough' }, 'invalid_email'],
    [{ name: 'A', email: '@c.co', password: 'longenough' }, 'invalid_email'],
    [{ name: 'A', email: 'a\u0000@c.co', password: 'longenough' }, 'invalid_email'],
    [{ name: 'A', email: 42, password: 'longenough' }, 'invalid_email'],
    [{ name: 'A', email: 'a@b.co' }, 'password_too_short'],
    [{ name: 'A', email: 'a@b.co', password: '7 chars' }, 'password_too_short'],
    [['A'], 'invalid_body'],
  ])('refuses %j as %s', async (body, error) => {
    const answer = await post('/v1/auth/signup', body);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    expect(answer.json.message).toBeTypeOf('string');
  });

  it('refuses what is not JSON', async () => {
    const answer = await gw.call('POST', '/v1/auth/signup', { raw: '{"name":' });
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_body']);
  });

  it('gives an address to one of twelve who ask for it at once, in whatever case', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        post('/v1/auth/signup', {
          name: 'Racer',
          email: index % 2 ? 'race@example.com' : 'RACE@Example.com',
          password: 'longenough',
        }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.every(({ status, json }) => status === 400 && json.error === 'email_taken')).toBe(true);
  });

  it('keeps the password only as an argon2id hash, and the data key only wrapped', async () => {
    const { tenantId } = await gw.signUp({ password: 'canary-password-1' });
    const [row] = await gw.sql('select t::text as row, password_hash from tenants t where tenant_id = $1', [
      tenantId,
    ]);
    expect(row!.password_hash).toMatch(/^\$argon2id\$/);
    expect(row!.row).not.toContain('canary-password-1');
    const dump = await gw.sql('select string_agg(e::text, $1) as text from audit_entries e', ['\n']);
    expect(dump[0]!.text).not.toContain('canary-password-1');
  });
});

describe('logging in', () => {
  it('answers with a token for a day, whatever the case of the address', async () => {
    const tenant = await gw.signUp();
    const answer = await login(` ${tenant.email.toUpperCase()} `, tenant.password);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ tenant_id: tenant.tenantId, email: tenant.email, plan_tier: 'free' });
    const lifetimeMs = Date.parse(answer.json.expires_at) - Date.now();
    expect(Math.abs(lifetimeMs - 24 * HOUR_MS)).toBeLessThan(60_000);
    expect(await accountStatus(answer.json.token)).toBe(200);
    expect(await actionsOf(tenant.tenantId)).toEqual(['tenant.signed_up', 'user.login']);
  });

  it('gives an unknown address, a wrong password and a closed account the same answer, byte for byte', async () => {
    const [active, cancelled, suspended] = [await gw.signUp(), await gw.signUp(), await gw.signUp()];
    await gw.sql("update tenants set status = 'cancelled' where tenant_id = $1", [cancelled.tenantId]);
    await gw.sql("update tenants set status = 'suspended' where tenant_id = $1", [suspended.tenantId]);
    const answers = [
      await login(active.email, 'not the password'),
      await login('nobody@example.com', 'not the password'),
      await login('nob\u0000dy@example.com', 'not the password'),
      await login(cancelled.email, cancelled.password),
      await login(suspended.email, suspended.password),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
    expect(answers[0]!.json.error).toBe('invalid_credentials');
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it('records a failed attempt for the tenant it was aimed at, and nothing for nobody', async () => {
    const tenant = await gw.signUp();
    const count = async () => (await gw.sql('select count(*)::int as n from audit_entries'))[0]!.n;
    const before = await count();
    await login('nobody-either@example.com', 'guess');
    expect(await count()).toBe(before);
    await login(tenant.email, 'guess number one');
    const [row] = await gw.sql(
      "select e::text as text, ip_address from audit_entries e where tenant_id = $1 and action = 'user.login_failed'",
      [tenant.tenantId],
    );
    expect(row!.ip_address).toBe('127.0.0.1');
    expect(row!.text).not.toContain('guess');
  });

  it('refuses a body without its fields', async () => {
    const answer = await post('/v1/auth/login', { email: 'a@b.co' });
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_field']);
    expect(answer.json.message).toContain('password');
  });
});

describe('a session', () => {
  it('is renewed by a refresh while the old token stays good', async () => {
    const { token } = await gw.signUp();
    const renewed = await gw.call('POST', '/v1/auth/refresh', { token });
    expect(renewed.status).toBe(200);
    expect(Object.keys(renewed.json).sort()).toEqual(['expires_at', 'token']);
    expect(renewed.json.token).not.toBe(token);
    expect([await accountStatus(token), await accountStatus(renewed.json.token)]).toEqual([200, 200]);
  });

  it('ends with a log-out, for that token only', async () => {
    const tenant = await gw.signUp();
    const other = (await login(tenant.email, tenant.password)).json.token;
    const answer = await gw.call('POST', '/v1/auth/logout', { token: tenant.token });
    expect([answer.status, typeof answer.json.message]).toEqual([200, 'string']);
    expect([await accountStatus(tenant.token), await accountStatus(other)]).toEqual([401, 200]);
    expect((await gw.call('POST', '/v1/auth/refresh', { token: tenant.token })).json.error).toBe(
      'invalid_token',
    );
    expect(await actionsOf(tenant.tenantId)).toContain('user.logout');
  });

  it('ends after a day', async () => {
    const { token } = await gw.signUp();
    clockAheadMs = 24 * HOUR_MS - 5_000;
    const before = await accountStatus(token);
    clockAheadMs = 24 * HOUR_MS + 5_000;
    const after = await gw.call('GET', '/v1/account', { token });
    const refresh = await gw.call('POST', '/v1/auth/refresh', { token });
    clockAheadMs = 0;
    expect([before, after.status, after.json.error, refresh.status]).toEqual([
      200,
      401,
      'invalid_token',
      401,
    ]);
  });

  it.each(['POST /v1/auth/refresh', 'POST /v1/auth/logout', 'GET /v1/account'])(
    'is needed for %s, in a proper header',
    async (route) => {
      const [method, path] = route.split(' ') as [string, string];
      for (const authorization of ['', 'Basic abc', 'Bearer']) {
        const answer = await gw.call(method, path, { headers: authorization ? { authorization } : {} });
        expect([answer.status, answer.json.error]).toEqual([401, 'missing_auth']);
      }
      const answer = await gw.call(method, path, { token: 'not.a.token' });
      expect([answer.status, answer.json.error]).toEqual([401, 'invalid_token']);
    },
  );
});

describe('a forged token', () => {
  const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = (tenantId: string, overrides: Record<string, unknown> = {}) => ({
    iss: 'gateway',
    aud: 'gateway-api',
    sub: tenantId,
    jti: '018f0000-0000-7000-8000-0000000000aa',
    iat: Math.floor(Date.now() / 1000),
    exp: Math.floor(Date.now() / 1000) + 3600,
    ...overrides,
  });
  const sign = (payload: Record<string, unknown>, secret = JWT_SECRET, alg = 'HS256') =>
    new SignJWT(payload).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));

  it('is accepted only when everything is right (the control of this test)', async () => {
    const { tenantId } = await gw.signUp();
    expect(await accountStatus(await sign(claims(tenantId)))).toBe(200);
  });

  it('is refused whatever is wrong with it', async () => {
    const { tenantId, token } = await gw.signUp();
    const [head, body, signature] = token.split('.') as [string, string, string];
    const unsigned = `${base64url({ alg: 'none' })}.${base64url(claims(tenantId))}.`;
    const hs256 = (header: unknown, payload: unknown, key: string) => {
      const text = `${base64url(header)}.${base64url(payload)}`;
      return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
    };
    const { jti: _jti, ...withoutId } = claims(tenantId);
    const forged: Record<string, string> = {
      'alg none': unsigned,
      'alg None with the real signature': `${base64url({ alg: 'None' })}.${body}.${signature}`,
      'alg HS512': await sign(claims(tenantId), JWT_SECRET, 'HS512'),
      'alg RS256 over an HMAC': hs256({ alg: 'RS256' }, claims(tenantId), JWT_SECRET),
      'another key': await sign(claims(tenantId), 'another-secret-of-sufficient-length-012345'),
      'an empty key': hs256({ alg: 'HS256' }, claims(tenantId), ''),
      'a key id that is a path': hs256({ alg: 'HS256', kid: '../../../../dev/null' }, claims(tenantId), ''),
      'a key of its own': hs256({ alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } }, claims(tenantId), '\0\0\0'),
      'an unknown critical header': hs256(
        { alg: 'HS256', crit: ['b64'], b64: false },
        claims(tenantId),
        JWT_SECRET,
      ),
      expired: await sign(claims(tenantId, { exp: Math.floor(Date.now() / 1000) - 1 })),
      'not valid yet': await sign(claims(tenantId, { nbf: Math.floor(Date.now() / 1000) + 3600 })),
      'no expiry': await sign(claims(tenantId, { exp: undefined })),
      'another audience': await sign(claims(tenantId, { aud: 'another-api' })),
      'another issuer': await sign(claims(tenantId, { iss: 'somebody' })),
      'no id': await sign(withoutId),
      'an id that is no UUID': await sign(claims(tenantId, { jti: "x'; drop table tenants; --" })),
      'a tenant that does not exist': await sign(claims('018f0000-0000-7000-8000-0000000000bb')),
      'a tenant that is SQL': await sign(claims("' or true; --")),
      'a changed body': `${head}.${base64url(claims(tenantId))}.${signature}`,
      'no signature': `${head}.${body}.`,
    };
    for (const [what, text] of Object.entries(forged)) {
      const answer = await gw.call('GET', '/v1/account', { token: text });
      expect([what, answer.status, answer.json.error]).toEqual([what, 401, 'invalid_token']);
    }
  });

  it('of another kind (a service key, the hash of a token) opens nothing', async () => {
    const { token } = await gw.signUp();
    const key = (await gw.call('POST', '/v1/api-keys', { token, body: { name: 'k' } })).json.key;
    expect(await accountStatus(key)).toBe(401);
    expect(await accountStatus(createHash('sha256').update(token).digest('hex'))).toBe(401);
  });
});
