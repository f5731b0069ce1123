import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { resetTokenIn, waitForMails } from './outbox.ts';

const HOUR_MS = 3_600_000;

let gw: Gateway;
let clockAheadMs = 0;

beforeAll(async () => {
  gw = await startGateway({ nowMs: () => Date.now() + clockAheadMs });
});
afterAll(() => gw.stop());

const forgot = (email: string) => gw.call('POST', '/v1/auth/forgot-password', { body: { email } });
const reset = (token: unknown, password: unknown) =>
  gw.call('POST', '/v1/auth/reset-password', { body: { token, password } });
const login = (email: string, password: string) =>
  gw.call('POST', '/v1/auth/login', { body: { email, password } });

async function askForTokens(email: string, count: number): Promise<string[]> {
  for (let asked = 1; asked <= count; asked++) {
    await forgot(email);
    await waitForMails(gw.dataDir, email, asked);
  }
  return (await waitForMails(gw.dataDir, email, count)).map(resetTokenIn);
}

describe('a forgotten password', () => {
  it('gets the same answer whether the account exists or not, and mail only when it does', async () => {
    const [tenant, closed] = [await gw.signUp(), await gw.signUp()];
    await gw.sql("update tenants set status = 'cancelled' where tenant_id = $1", [closed.tenantId]);
    const strangers = ['nobody@example.com', closed.email, 'not an address', '', 'n\u0000l@example.com'];
    const answers = [];
    for (const email of [...strangers, tenant.email]) answers.push(await forgot(email));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const [mail] = await waitForMails(gw.dataDir, tenant.email, 1);
    const token = resetTokenIn(mail!);
    expect(mail).toContain(`/reset-password?token=${token}`);
    expect(mail).toContain('Subject: Reset your Gateway password');
    await noJobsLeft();
    expect(await waitForMails(gw.dataDir, closed.email, 0)).toHaveLength(0);
    expect(await waitForMails(gw.dataDir, 'nobody@example.com', 0)).toHaveLength(0);
  });

  it('leaves no token in the database, only its hash', async () => {
    const tenant = await gw.signUp();
    const [token] = await askForTokens(tenant.email, 1);
    for (const table of ['password_resets', 'audit_entries', 'graphile_worker._private_jobs']) {
      const [dump] = await gw.sql(`select coalesce(string_agg(t::text, ','), '') as text from ${table} t`);
      expect(dump!.text).not.toContain(token);
    }
    const [audit] = await gw.sql(
      "select details from audit_entries where tenant_id = $1 and action = 'user.password_reset_requested'",
      [tenant.tenantId],
    );
    expect(audit!.details).toEqual({});
  });

  it('does not fill a mailbox: at most ten links in an hour', async () => {
    const tenant = await gw.signUp();
    await Promise.all(Array.from({ length: 14 }, () => forgot(tenant.email)));
    await noJobsLeft();
    expect(await waitForMails(gw.dataDir, tenant.email, 10)).toHaveLength(10);
  });
});

async function noJobsLeft(): Promise<void> {
  while ((await gw.sql('select 1 from graphile_worker._private_jobs')).length > 0) {
    await sleep(25);
  }
}

describe('a reset token', () => {
  it('sets the password once, ends every session, and is then unknown', async () => {
    const tenant = await gw.signUp();
    const session = (await login(tenant.email, tenant.password)).json.token;
    const [token] = await askForTokens(tenant.email, 1);
    const answer = await reset(token, 'the new password');
    expect([answer.status, typeof answer.json.message]).toEqual([200, 'string']);
    for (const old of [tenant.token, session]) {
      expect((await gw.call('GET', '/v1/account', { token: old })).json.error).toBe('invalid_token');
    }
    expect((await login(tenant.email, tenant.password)).status).toBe(401);
    const fresh = await login(tenant.email, 'the new password');
    expect((await gw.call('GET', '/v1/account', { token: fresh.json.token })).status).toBe(200);
    const again = await reset(token, 'yet another one');
    expect([again.status, again.json.error]).toEqual([400, 'invalid_token']);
    const actions = await gw.sql('select action from audit_entries where tenant_id = $1', [tenant.tenantId]);
    expect(actions.map(({ action }) => action)).toContain('user.password_reset');
  });

  it('works for exactly one of fifty who use it at once', async () => {
    const tenant = await gw.signUp();
    const [token] = await askForTokens(tenant.email, 1);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => reset(token, `new password ${index}`)),
    );
    const winners = answers.flatMap(({ status }, index) => (status === 200 ? [index] : []));
    expect(winners).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.every(({ status, json }) => status === 400 && json.error === 'invalid_token')).toBe(true);
    expect((await login(tenant.email, `new password ${winners[0]}`)).status).toBe(200);
  });

  it('voids the others that were sent', async () => {
    const tenant = await gw.signUp();
    const [first, second, third] = await askForTokens(tenant.email, 3);
    expect((await reset(second, 'the new password')).status).toBe(200);
    expect((await reset(first, 'another password')).json.error).toBe('invalid_token');
    expect((await reset(third, 'another password')).json.error).toBe('invalid_token');
  });

  it('expires after an hour, and says so', async () => {
    const tenant = await gw.signUp();
    const [token] = await askForTokens(tenant.email, 1);
    clockAheadMs = HOUR_MS + 1_000;
    const late = await reset(token, 'the new password');
    clockAheadMs = 0;
    expect([late.status, late.json.error]).toEqual([400, 'token_expired']);
    expect((await reset(token?.toUpperCase(), 'the new password')).status).toBe(200);
  });

  it('does not open a closed account', async () => {
    const tenant = await gw.signUp();
    const [token] = await askForTokens(tenant.email, 1);
    await gw.call('DELETE', '/v1/account', { token: tenant.token });
    expect((await reset(token, 'the new password')).json.error).toBe('invalid_token');
  });

  it.each([
    ['0'.repeat(64), 'longenough', 'invalid_token'],
    ['short', 'longenough', 'invalid_token'],
    [undefined, 'longenough', 'invalid_token'],
    [42, 'longenough', 'invalid_token'],
    ['0'.repeat(64), 'short', 'password_too_short'],
    ['0'.repeat(64), undefined, 'password_too_short'],
  ])('%j with the password %j is refused as %s', async (token, password, error) => {
    const answer = await reset(token, password);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
  });
});

describe('a mail server that fails', () => {
  it('delays a mail and loses none, and the waiting job shows neither address nor token', async () => {
    const smtp = await startFlakySmtp();
    const node = await startGateway({ env: { SMTP_URL: `smtp://127.0.0.1:${smtp.port}` } });
    try {
      const tenant = await node.signUp();
      await node.call('POST', '/v1/auth/forgot-password', { body: { email: tenant.email } });
      const waiting = async () =>
        node.sql(`select j::text as text, attempts, max_attempts, last_error from graphile_worker._private_jobs j
                   where last_error is not null and locked_at is null`);
      while ((await waiting()).length === 0) await sleep(25);
      const [job] = await waiting();
      expect(job).toMatchObject({ attempts: 1, max_attempts: 25 });
      expect(job!.text).not.toContain(tenant.email);
      smtp.recover();
      await node.sql('update graphile_worker._private_jobs set run_at = now()');
      while (smtp.received.length === 0) await sleep(25);
      expect(smtp.received[0]).toContain(`To: ${tenant.email}`);
      expect(smtp.received).toHaveLength(1);
    } finally {
      await node.stop();
      smtp.close();
    }
  });
});

/** As much of an SMTP server as a mail needs: it turns mails away until it has recovered. */
async function startFlakySmtp() {
  let works = false;
  const received: string[] = [];
  const server: Server = createServer((socket) => {
    let text = '';
    let inData = false;
    socket.on('error', () => undefined);
    socket.write('220 test\r\n');
    socket.on('data', (chunk) => {
      text += chunk;
      if (inData) {
        if (!text.includes('\r\n.\r\n')) return;
        received.push(text);
        inData = false;
        text = '';
        socket.write('250 taken\r\n');
        return;
      }
      for (let end = text.indexOf('\r\n'); end !== -1 && !inData; end = text.indexOf('\r\n')) {
        const command = text.slice(0, 4).toUpperCase();
        text = text.slice(end + 2);
        inData = command === 'DATA';
        if (command === 'MAIL' && !works) socket.write('451 try again later\r\n');
        else socket.write(inData ? '354 go on\r\n' : '250 ok\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as { port: number }).port,
    received,
    recover: () => {
      works = true;
    },
    close: () => server.close(),
  };
}
