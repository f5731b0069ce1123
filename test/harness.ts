import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import type { Provider } from '../src/contract/providers.ts';
import { createLogger } from '../src/server/adapters/log.ts';
import { startApp } from '../src/server/app.ts';
import { readConfig } from '../src/server/config.ts';
import { readMigrations } from '../src/server/store/migrations.ts';
import { type Simulator, startSimulator } from '../src/simulator/index.ts';
import { TEMPLATE } from './global-setup.ts';

const SECRETS = {
  GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
  GATEWAY_JWT_SECRET: randomBytes(32).toString('hex'),
  GATEWAY_LEDGER_SECRET: randomBytes(32).toString('hex'),
  GATEWAY_OPERATOR_TOKEN: randomBytes(32).toString('hex'),
};

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  json: any;
}

export interface CallOptions {
  token?: string | undefined;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Sent as it stands. */
  raw?: string;
}

export interface SignedUp {
  tenantId: string;
  token: string;
  email: string;
  password: string;
}

export interface Gateway {
  apiUrl: string;
  proxyUrl: string;
  simulator: Simulator;
  databaseUrl: string;
  dataDir: string;
  operatorToken: string;
  secrets: typeof SECRETS;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  signUp(overrides?: Partial<{ name: string; email: string; password: string }>): Promise<SignedUp>;
  /** A tenant with a key of ours and one for every provider, ready to call. */
  onboard(): Promise<SignedUp & { key: string; keyId: string }>;
  /** A proxied call; the path begins with the provider's name. */
  proxy(path: string, options: CallOptions & { key: string; method?: string }): Promise<Answer>;
  /** Waits until a tenant's request log holds so many rows. */
  logged(token: string, count: number): Promise<void>;
  /** Past every wall, for what a test has to see or break. */
  sql<Row = Record<string, unknown>>(text: string, params?: unknown[]): Promise<Row[]>;
  stop(): Promise<void>;
}

/** An empty migrated database of the run's PostgreSQL. */
export async function makeDatabase(): Promise<string> {
  const base = new URL(inject('postgresUrl'));
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const client = new pg.Client({ connectionString: base.href });
  await client.connect();
  // Copying the template needs it for itself for a moment; another file may be doing the same.
  await client.query('select pg_advisory_lock(1)');
  await client.query(`create database ${name} template ${TEMPLATE}`);
  await client.end();
  base.pathname = `/${name}`;
  return base.href;
}

export interface GatewayOptions {
  env?: Record<string, string>;
  nowMs?: () => number;
  /** Share a database with another node of the same test. */
  databaseUrl?: string;
  simulator?: Simulator;
}

/** The whole program in this process, on free ports, with a database and a simulator of its own. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const databaseUrl = options.databaseUrl ?? (await makeDatabase());
  const simulator = options.simulator ?? (await startSimulator());
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const upstream = (provider: Provider) => simulator.providerUrl(provider);
  const reading = readConfig({
    DATABASE_URL: databaseUrl,
    ...SECRETS,
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_PORT: '0',
    GATEWAY_PROXY_PORT: '0',
    GATEWAY_PROV_A_URL: upstream('prov_a'),
    GATEWAY_PROV_B_URL: upstream('prov_b'),
    GATEWAY_PROV_C_URL: upstream('prov_c'),
    GATEWAY_PROV_D_URL: upstream('prov_d'),
    GATEWAY_RATE_SIGNUP: '0',
    GATEWAY_RATE_LOGIN: '0',
    GATEWAY_RATE_FORGOT: '0',
    GATEWAY_LOG_LEVEL: 'warn',
    ...options.env,
  });
  if (reading.kind === 'refused') throw new Error(reading.problems.map(({ message }) => message).join('; '));
  const { config } = reading;
  const app = await startApp({
    config,
    databaseUrl,
    secrets: config.secretsGiven as Required<typeof config.secretsGiven>,
    migrations: await readMigrations(join(import.meta.dirname, '..', 'migrations')),
    version: '0.0.0-test',
    log: createLogger(config.logLevel),
    ...(options.nowMs && { nowMs: options.nowMs }),
  });
  await app.ready;
  const apiUrl = app.apiUrl ?? '';
  const proxyUrl = app.proxyUrl ?? '';
  const call: Gateway['call'] = (method, path, callOptions) => send(method, `${apiUrl}${path}`, callOptions);
  const signUp: Gateway['signUp'] = async (overrides) => {
    const account = {
      name: 'Acme',
      email: `${randomUUID()}@example.com`,
      password: 'correct horse',
      ...overrides,
    };
    const answer = await call('POST', '/v1/auth/signup', { body: account });
    if (answer.status !== 201) throw new Error(`signup answered ${answer.status}: ${answer.text}`);
    return {
      tenantId: answer.json.tenant_id,
      token: answer.json.token,
      email: account.email,
      password: account.password,
    };
  };
  return {
    apiUrl,
    proxyUrl,
    simulator,
    databaseUrl,
    dataDir,
    operatorToken: SECRETS.GATEWAY_OPERATOR_TOKEN,
    secrets: SECRETS,
    call,
    signUp,
    async onboard() {
      const tenant = await signUp();
      for (const provider of ['prov_a', 'prov_b', 'prov_c', 'prov_d']) {
        await call('POST', '/v1/provider-keys', {
          token: tenant.token,
          body: { provider, key: `sk-upstream-${provider}` },
        });
      }
      const made = await call('POST', '/v1/api-keys', { token: tenant.token, body: { name: 'test key' } });
      if (made.status !== 201) throw new Error(`creating a key answered ${made.status}: ${made.text}`);
      return { ...tenant, key: made.json.key, keyId: made.json.id };
    },
    proxy: (path, { key, method = 'POST', headers, ...rest }) =>
      send(method, `${proxyUrl}/v1/proxy${path}`, {
        ...rest,
        headers: { authorization: `Bearer ${key}`, ...headers },
      }),
    logged: (token, count) =>
      eventually(async () => {
        const { json } = await call('GET', '/v1/usage/requests?limit=1', { token });
        if (json.total !== count) throw new Error(`the request log holds ${json.total} rows, not ${count}`);
      }),
    sql: (text, params) => queryAsSystem(databaseUrl, text, params),
    async stop() {
      await app.stop();
      if (!options.simulator) await simulator.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function send(method: string, url: string, options: CallOptions = {}): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers };
  if (options.token) headers.authorization = `Bearer ${options.token}`;
  if (options.body !== undefined) headers['content-type'] ??= 'application/json';
  const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const response = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  let json: unknown = null;
  try {
    json = JSON.parse(text);
  } catch {
    // Not every answer is JSON.
  }
  return { status: response.status, headers: response.headers, text, json };
}

async function queryAsSystem<Row>(url: string, text: string, params: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`set search_path = gateway; set gateway.tenant_id = 'system'`);
    return (await client.query(text, params)).rows as Row[];
  } finally {
    await client.end();
  }
}

const EVENTUALLY_MS = 15_000;

/** Tries until it does not throw; the last failure is the answer when the time is up. */
export async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const endMs = Date.now() + EVENTUALLY_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
