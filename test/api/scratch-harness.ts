import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { accountOperations } from '../../src/contract/account.ts';
import { apiKeysOperations } from '../../src/contract/api-keys.ts';
import { auditOperations } from '../../src/contract/audit.ts';
import { authOperations } from '../../src/contract/auth.ts';
import { providerKeysOperations } from '../../src/contract/provider-keys.ts';
import { teamsOperations } from '../../src/contract/teams.ts';
import { createLogger } from '../../src/server/adapters/log.ts';
import { openMailer } from '../../src/server/adapters/mailer.ts';
import { openVault } from '../../src/server/adapters/vault.ts';
import { accountApi } from '../../src/server/api/account.ts';
import { apiKeysApi } from '../../src/server/api/api-keys.ts';
import { auditApi } from '../../src/server/api/audit.ts';
import { authApi } from '../../src/server/api/auth.ts';
import { providerKeysApi } from '../../src/server/api/provider-keys.ts';
import { teamsApi } from '../../src/server/api/teams.ts';
import { readConfig } from '../../src/server/config.ts';
import { parseNetworks } from '../../src/server/http/client-ip.ts';
import { rateLimit } from '../../src/server/http/rate-limit.ts';
import { buildHttpServer } from '../../src/server/http/server.ts';
import { startJobs } from '../../src/server/jobs/runner.ts';
import { announceChange } from '../../src/server/store/control-changes.ts';
import { openDatabase } from '../../src/server/store/database.ts';
import { migrate, readMigrations } from '../../src/server/store/migrations.ts';

const ADMIN = 'postgres://postgres@127.0.0.1:55433/postgres';

export async function startGateway(options: { env?: Record<string, string>; nowMs?: () => number } = {}) {
  const name = `t${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client(ADMIN);
  await admin.connect();
  await admin.query(`create database ${name}`);
  await admin.end();
  const databaseUrl = ADMIN.replace(/postgres$/, name);
  await migrate(databaseUrl, await readMigrations('migrations'));
  const dataDir = await mkdtemp(join(tmpdir(), 'gw-'));
  const reading = readConfig({ GATEWAY_DATA_DIR: dataDir, GATEWAY_RATE_SIGNUP: '0', GATEWAY_RATE_LOGIN: '0', GATEWAY_RATE_FORGOT: '0', ...options.env });
  if (reading.kind !== 'config') throw new Error(JSON.stringify(reading));
  const config = reading.config;
  const nowMs = options.nowMs ?? Date.now;
  const database = openDatabase({ url: databaseUrl, name: 'test', connections: 10, onIdleError: () => {} });
  const vault = openVault(config.secretsGiven.masterKey ?? Buffer.alloc(32, 7));
  const jwtSecret = Buffer.from(config.secretsGiven.jwtSecret ?? 'j'.repeat(40));
  const parts = {
    database, vault, jwtSecret, ledgerSecret: 'l'.repeat(40), config, version: '0', nowMs,
    changeTenant: <T>(tenantId: string, work: (db: never) => Promise<T>) =>
      database.asTenant(tenantId, async (db) => { const r = await work(db as never); await announceChange(db, `tenant:${tenantId}`); return r; }),
  } as never;
  const app = buildHttpServer({
    operations: { ...authOperations, ...accountOperations, ...teamsOperations, ...apiKeysOperations, ...providerKeysOperations, ...auditOperations },
    handlers: { ...authApi(parts), ...accountApi(parts), ...teamsApi(parts), ...apiKeysApi(parts), ...providerKeysApi(parts), ...auditApi(parts) } as never,
    rateLimits: { signup: rateLimit(config.ratePerMinute.signup), login: rateLimit(config.ratePerMinute.login), forgotPassword: rateLimit(config.ratePerMinute.forgot) },
    trustedProxies: parseNetworks(config.trustedProxies), corsOrigins: [],
    onFault: (error) => console.error(error),
    database, jwtSecret, operatorToken: 'o'.repeat(40), nowMs,
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const apiUrl = `http://127.0.0.1:${(app.server.address() as { port: number }).port}`;
  const mailer = openMailer({ smtpUrl: config.mail.smtpUrl, from: config.mail.from, outboxDir: join(dataDir, 'outbox'), nowMs });
  const jobs = await startJobs({ databaseUrl, database, vault, mailer, dashboardUrl: apiUrl, nowMs, log: createLogger('warn') });
  const client = new pg.Pool({ connectionString: databaseUrl, max: 2, options: '-c search_path=gateway' });
  const call = async (method: string, path: string, o: { token?: string; body?: unknown; headers?: Record<string, string>; raw?: string } = {}) => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { ...(o.token && { authorization: `Bearer ${o.token}` }), ...o.headers },
      body: o.raw ?? (o.body === undefined ? undefined : JSON.stringify(o.body)),
    } as RequestInit);
    const text = await response.text();
    let json: any;
    try { json = JSON.parse(text); } catch {}
    return { status: response.status, headers: response.headers, json, text };
  };
  let n = 0;
  return {
    apiUrl, databaseUrl, dataDir, call,
    async signUp(overrides: Record<string, string> = {}) {
      const draft = { name: 'Acme', email: `u${++n}-${randomBytes(4).toString('hex')}@example.com`, password: 'correct horse', ...overrides };
      const r = await call('POST', '/v1/auth/signup', { body: draft });
      if (r.status !== 201) throw new Error(r.text);
      return { token: r.json.token as string, tenantId: r.json.tenant_id as string, email: draft.email, password: draft.password };
    },
    async sql(text: string, params: unknown[] = []) { return (await client.query(text, params)).rows as any[]; },
    async stop() { await app.close(); await jobs.stop(); await database.close(); await client.end(); mailer.close(); },
  };
}
