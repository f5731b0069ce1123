import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openVault } from '../../src/server/adapters/vault.ts';
import { type Gateway, startGateway } from '../harness.ts';

const MASTER_KEY = Buffer.alloc(32, 42);
const HOOK = 'https://hooks.slack.com/services/T0CANARY/B0CANARY/canaryhooksecret';

let gw: Gateway;
let nowMs = Date.now();
beforeAll(async () => {
  gw = await startGateway({
    env: { GATEWAY_MASTER_KEY: MASTER_KEY.toString('base64') },
    nowMs: () => nowMs,
  });
});
afterAll(() => gw.stop());

const read = (token: string) => gw.call('GET', '/v1/account', { token });
const update = (token: string, body: unknown, path = '/v1/account') => gw.call('PUT', path, { token, body });
const login = (email: string, password: string) =>
  gw.call('POST', '/v1/auth/login', { body: { email, password } });

async function auditOf(tenantId: string): Promise<Array<{ action: string; details: unknown }>> {
  const rows = await gw.sql('select action, details from audit_entries where tenant_id = $1 order by id', [
    tenantId,
  ]);
  return rows as Array<{ action: string; details: unknown }>;
}

describe('an account', () => {
  it('shows every field of the contract and no other', async () => {
    const tenant = await gw.signUp();
    const { status, json } = await read(tenant.token);
    expect(status).toBe(200);
    expect(Object.keys(json).sort()).toEqual(
      'chat_webhook_url created_at data_share_enabled digest_enabled email name plan_tier status subscription tenant_id updated_at'.split(
        ' ',
      ),
    );
    expect(json).toMatchObject({ digest_enabled: true, data_share_enabled: false, chat_webhook_url: null });
  });

  it('counts the requests of the calendar month in UTC', async () => {
    const tenant = await gw.signUp();
    const realNow = nowMs;
    nowMs = Date.UTC(2027, 1, 28, 23, 59, 59, 999);
    const { token } = (await login(tenant.email, tenant.password)).json;
    await gw.sql("insert into usage_months values ($1, '2027-02-01', 41), ($1, '2027-03-01', 7)", [
      tenant.tenantId,
    ]);
    const february = (await read(token)).json.subscription;
    nowMs += 1;
    const march = (await read(token)).json.subscription;
    nowMs = realNow;
    expect(february).toEqual({
      plan_tier: 'free',
      included_requests: 10_000,
      used_requests: 41,
      status: 'active',
      current_period_start: '2027-02-01T00:00:00.000Z',
      current_period_end: '2027-03-01T00:00:00.000Z',
    });
    expect(march.used_requests).toBe(7);
  });

  it('takes a new name and digest preference, and leaves what is absent or null', async () => {
    const { token, tenantId } = await gw.signUp();
    expect((await update(token, { name: ' Renamed ', digest_enabled: false })).json).toMatchObject({
      name: 'Renamed',
      digest_enabled: false,
    });
    const untouched = await update(token, { digest_enabled: null }, '/v1/account/settings');
    expect(untouched.json).toMatchObject({ name: 'Renamed', digest_enabled: false });
    expect(untouched.json.token).toBeUndefined();
    expect((await auditOf(tenantId)).slice(1)).toEqual([
      { action: 'account.updated', details: { fields: ['name', 'digest_enabled'] } },
    ]);
  });

  it.each([
    [{ name: '' }, 400, 'name_required'],
    [{ name: 7 }, 400, 'name_required'],
    [{ digest_enabled: 'yes' }, 400, 'invalid_field'],
    [{ new_password: 'longenough' }, 400, 'current_password_required'],
    [{ new_password: 'longenough', current_password: '' }, 400, 'current_password_required'],
    [{ new_password: 'short', current_password: 'correct horse' }, 400, 'password_too_short'],
    [{ new_password: 'longenough', current_password: 'wrong' }, 401, 'invalid_credentials'],
  ])('refuses %j with %i %s and changes nothing', async (body, status, error) => {
    const tenant = await gw.signUp({ password: 'correct horse' });
    for (const path of ['/v1/account', '/v1/account/settings']) {
      const answer = await update(tenant.token, { digest_enabled: false, ...body }, path);
      expect([answer.status, answer.json.error]).toEqual([status, error]);
    }
    expect((await read(tenant.token)).json.digest_enabled).toBe(true);
    expect((await login(tenant.email, 'correct horse')).status).toBe(200);
  });

  it('warns about fields it does not know', async () => {
    const { token } = await gw.signUp();
    const answer = await update(token, { name: 'A', plan_tier: 'enterprise' });
    expect(answer.headers.get('warning')).toContain('plan_tier');
    expect(answer.json.plan_tier).toBe('free');
  });
});

describe('a new password', () => {
  it('ends every earlier token, even one of the same millisecond, and hands out a fresh one', async () => {
    const tenant = await gw.signUp();
    const other = (await login(tenant.email, tenant.password)).json.token;
    const changed = await update(tenant.token, {
      current_password: tenant.password,
      new_password: 'a better password',
    });
    expect(changed.status).toBe(200);
    expect(changed.json.email).toBe(tenant.email);
    expect(Date.parse(changed.json.expires_at)).toBeGreaterThan(nowMs);
    for (const old of [tenant.token, other]) expect((await read(old)).json.error).toBe('invalid_token');
    expect((await read(changed.json.token)).status).toBe(200);
    expect((await login(tenant.email, tenant.password)).status).toBe(401);
    const again = await login(tenant.email, 'a better password');
    expect((await read(again.json.token)).status).toBe(200);
    expect((await auditOf(tenant.tenantId)).map(({ action }) => action)).toContain(
      'account.password_changed',
    );
  });

  it('is set by one of two changes at once: the other one knew a password that is gone', async () => {
    const tenant = await gw.signUp();
    const answers = await Promise.all(
      [1, 2, 3, 4].map((number) =>
        update(tenant.token, { current_password: tenant.password, new_password: `new password ${number}` }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(3);
  });
});

describe('cancelling an account', () => {
  it('keeps the data, ends every session and log-in, and tells the proxies', async () => {
    const tenant = await gw.signUp();
    const other = (await login(tenant.email, tenant.password)).json.token;
    const answer = await gw.call('DELETE', '/v1/account', { token: tenant.token });
    expect([answer.status, answer.json.status]).toEqual([200, 'cancelled']);
    for (const token of [tenant.token, other]) expect((await read(token)).status).toBe(401);
    expect((await login(tenant.email, tenant.password)).json.error).toBe('invalid_credentials');
    const [row] = await gw.sql('select status from tenants where tenant_id = $1', [tenant.tenantId]);
    expect(row!.status).toBe('cancelled');
    const told = await gw.sql('select from control_changes where subject = $1', [
      `tenant:${tenant.tenantId}`,
    ]);
    expect(told.length).toBeGreaterThan(0);
    await gw.sql("update tenants set status = 'active' where tenant_id = $1", [tenant.tenantId]);
    expect((await read(tenant.token)).status).toBe(401);
  });
});

describe('the chat webhook', () => {
  const set = (token: string, webhook_url: unknown) =>
    gw.call('PUT', '/v1/account/integrations/chatops', { token, body: { webhook_url } });

  it('is kept sealed, shown masked, and removed', async () => {
    const { token, tenantId } = await gw.signUp();
    const masked = `${HOOK.slice(0, 40)}...`;
    expect((await set(token, HOOK)).json.chat_webhook_url).toBe(masked);
    expect((await read(token)).json.chat_webhook_url).toBe(masked);
    const [row] = await gw.sql<{ text: string; chat_webhook_sealed: Buffer; data_key_wrapped: Buffer }>(
      'select t::text as text, chat_webhook_sealed, data_key_wrapped from tenants t where tenant_id = $1',
      [tenantId],
    );
    expect(row!.text).not.toContain('canaryhooksecret');
    expect(row!.text).not.toContain(Buffer.from('canaryhooksecret').toString('hex'));
    const vault = openVault(MASTER_KEY);
    expect(vault.open(tenantId, row!.data_key_wrapped, 'chat_webhook', row!.chat_webhook_sealed)).toBe(HOOK);
    // Removing what is not there is no change, and no entry of the audit.
    for (let times = 0; times < 2; times++) {
      const removed = await gw.call('DELETE', '/v1/account/integrations/chatops', { token });
      expect([removed.status, removed.text]).toEqual([204, '']);
    }
    expect((await read(token)).json.chat_webhook_url).toBeNull();
    const audit = await auditOf(tenantId);
    expect(audit.map(({ action }) => action)).toEqual([
      'tenant.signed_up',
      'account.chat_webhook_set',
      'account.chat_webhook_removed',
    ]);
    expect(JSON.stringify(audit)).not.toContain('canary');
  });

  it.each([
    'https://hooks.slack.com.evil.example/services/T/B/X',
    'https://hooks.slack.com@evil.example/services/T/B/X',
    'https://hooks.slack.com:444/services/T/B/X',
    'https://hooks.slack.com/services/../admin',
    'http://hooks.slack.com/services/T/B/X',
    '',
    undefined,
    7,
  ])('is refused as %j', async (url) => {
    const { token } = await gw.signUp();
    const answer = await set(token, url);
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_field']);
    expect((await read(token)).json.chat_webhook_url).toBeNull();
  });
});

describe('data sharing', () => {
  it('is switched on and off, and needs a boolean', async () => {
    const { token, tenantId } = await gw.signUp();
    const set = (body: unknown) => gw.call('PUT', '/v1/account/settings/data-share', { token, body });
    expect((await set({ enabled: true })).json.data_share_enabled).toBe(true);
    expect((await set({ enabled: false })).json.data_share_enabled).toBe(false);
    for (const body of [{}, { enabled: 'true' }, { enabled: null }]) {
      expect((await set(body)).json.error).toBe('invalid_field');
    }
    expect((await auditOf(tenantId)).slice(1)).toEqual([
      { action: 'account.data_share_set', details: { enabled: true } },
      { action: 'account.data_share_set', details: { enabled: false } },
    ]);
  });
});
