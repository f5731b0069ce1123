import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { operations } from '../contract/index.ts';
import type { Logger } from './adapters/log.ts';
import { type Mailer, openMailer } from './adapters/mailer.ts';
import { type Outbound, openOutbound } from './adapters/outbound.ts';
import type { Secrets } from './adapters/secrets.ts';
import { openVault, type Vault } from './adapters/vault.ts';
import { apiHandlers } from './api/index.ts';
import { LiveTail } from './api/live-tail.ts';
import type { ApiParts } from './api/parts.ts';
import { type Config, dashboardUrl } from './config.ts';
import { priceToJson } from './domain/price-json.ts';
import { SEED_MODELS } from './domain/seed-prices.ts';
import { parseNetworks } from './http/client-ip.ts';
import { registerDashboard } from './http/dashboard.ts';
import { registerDocs } from './http/docs-page.ts';
import { rateLimit } from './http/rate-limit.ts';
import { buildHttpServer } from './http/server.ts';
import { startJobs } from './jobs/runner.ts';
import { attemptByHand } from './jobs/webhook-attempt.ts';
import { openDataPlane } from './proxy/index.ts';
import { Snapshots } from './proxy/snapshot.ts';
import { announceChange } from './store/control-changes.ts';
import { type Database, isTransient, openDatabase } from './store/database.ts';
import { migrateJobQueue } from './store/jobs.ts';
import { type Migration, migrate } from './store/migrations.ts';
import { addSeedPrices } from './store/prices.ts';

const API_CONNECTIONS = 10;
const INGEST_CONNECTIONS = 6;
const PREPARE_RETRY_MS = 1_000;

export interface AppOptions {
  config: Config;
  databaseUrl: string;
  secrets: Secrets;
  migrations: readonly Migration[];
  version: string;
  log: Logger;
  nowMs?: () => number;
}

export interface App {
  apiUrl: string | null;
  proxyUrl: string | null;
  /** Settled when the database is migrated and everything runs; the listeners are open before that. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Builds the program from its parts and opens its listeners. A database that is away is waited for: the
 * listeners answer meanwhile, and everything that needs it starts when it comes.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, log, databaseUrl, secrets } = options;
  const nowMs = options.nowMs ?? Date.now;
  const onIdleError = (error: Error) => log.debug({ err: error }, 'a database connection broke');
  const database = openDatabase({
    url: databaseUrl,
    name: 'gateway-api',
    connections: API_CONNECTIONS,
    onIdleError,
  });
  const ingestDatabase = openDatabase({
    url: databaseUrl,
    name: 'gateway-ingest',
    connections: INGEST_CONNECTIONS,
    onIdleError,
  });
  const vault = openVault(secrets.masterKey);
  const mailer = openMailer({
    smtpUrl: config.mail.smtpUrl,
    from: config.mail.from,
    outboxDir: join(config.dataDir, 'outbox'),
    nowMs,
  });
  const outbound = openOutbound({ allowPrivate: config.webhookAllowPrivate });
  const snapshots = new Snapshots({ database, vault, log });
  const liveTail = new LiveTail({ database, log });
  const has = (role: Config['role']) => config.role === 'all' || config.role === role;

  const dataPlane = has('proxy')
    ? await openDataPlane({
        config,
        databaseUrl,
        database: ingestDatabase,
        snapshots,
        ledgerSecret: secrets.ledgerSecret,
        onRecorded: () => liveTail.nudge(),
        log,
        nowMs,
      })
    : null;
  const proxyUrl =
    dataPlane && urlOf(await listen(dataPlane.server, config.host, config.proxyPort), config.host);
  const api = has('api')
    ? buildApi({ ...options, nowMs }, { database, vault, snapshots, mailer, outbound, liveTail })
    : null;
  if (api) {
    const proxyPort = proxyUrl ? Number(new URL(proxyUrl).port) : config.proxyPort;
    registerDashboard(api, { proxyPort, version: options.version });
    await api.listen({ host: config.host, port: config.port });
  }
  const apiPort = api ? (api.server.address() as AddressInfo).port : config.port;

  const stopping = new AbortController();
  let jobs: { stop(): Promise<void> } | null = null;
  const start = async () => {
    await prepareDatabase(options, database, stopping.signal);
    await dataPlane?.start();
    if (!has('worker')) return;
    jobs = await startJobs({
      databaseUrl,
      database,
      vault,
      mailer,
      outbound,
      webhookRetryDelaysSeconds: config.webhookRetryDelaysSeconds,
      dashboardUrl: dashboardUrl(config, apiPort),
      ledgerSecret: secrets.ledgerSecret,
      priceSources: config.priceSources,
      nowMs,
      log,
    });
  };
  const ready = start();
  ready.catch(() => {});
  return {
    apiUrl: api && `http://${hostInUrl(config.host)}:${apiPort}`,
    proxyUrl,
    ready,
    async stop() {
      stopping.abort();
      await ready.catch(() => {});
      liveTail.stop();
      await Promise.all([api?.close(), dataPlane?.stop()]);
      await jobs?.stop();
      await Promise.all([database.close(), ingestDatabase.close()]);
    },
  };
}

function buildApi(
  options: AppOptions & { nowMs: () => number },
  built: { database: Database; vault: Vault; snapshots: Snapshots; mailer: Mailer; outbound: Outbound; liveTail: LiveTail },
): FastifyInstance {
  const { config, secrets, nowMs } = options;
  const { database, snapshots, ...adapters } = built;
  const jwtSecret = new TextEncoder().encode(secrets.jwtSecret);
  const changeTenant: ApiParts['changeTenant'] = async (tenantId, work) => {
    const result = await database.asTenant(tenantId, async (db) => {
      const outcome = await work(db);
      await announceChange(db, `tenant:${tenantId}`);
      return outcome;
    });
    await snapshots.refreshTenant(tenantId);
    return result;
  };
  const handlers = apiHandlers({
    database,
    changeTenant,
    ...adapters,
    attemptDelivery: (tenantId, deliveryId) =>
      attemptByHand(
        {
          database,
          ...adapters,
          webhookRetryDelaysSeconds: config.webhookRetryDelaysSeconds,
          nowMs,
        },
        tenantId,
        deliveryId,
      ),
    jwtSecret,
    ledgerSecret: secrets.ledgerSecret,
    config,
    version: options.version,
    nowMs,
  });
  const app = buildHttpServer({
    operations,
    handlers: handlers as never,
    rateLimits: {
      signup: rateLimit(config.ratePerMinute.signup),
      login: rateLimit(config.ratePerMinute.login),
      forgotPassword: rateLimit(config.ratePerMinute.forgot),
    },
    database,
    jwtSecret,
    operatorToken: secrets.operatorToken,
    trustedProxies: parseNetworks(config.trustedProxies),
    corsOrigins: config.corsOrigins,
    nowMs,
    onFault: (error, requestId, what) => options.log.error({ err: error, requestId }, `${what} broke`),
  });
  registerDocs(app, operations, options.version);
  return app;
}

/** Schema, job queue and shipped prices; tried again while the database is away, given up when it refuses. */
async function prepareDatabase(
  options: AppOptions,
  database: Database,
  stopping: AbortSignal,
): Promise<void> {
  const seeds = SEED_MODELS.flatMap(({ prices, ...model }) =>
    prices.map(({ effective_from, price }) => ({
      ...model,
      effective_from_ms: effective_from,
      price: priceToJson(price),
    })),
  );
  for (;;) {
    try {
      const { applied } = await migrate(options.databaseUrl, options.migrations);
      if (applied.length > 0) options.log.info({ applied }, 'the database schema was brought forward');
      await migrateJobQueue(options.databaseUrl);
      await database.asSystem((db) => addSeedPrices(db, seeds));
      return;
    } catch (error) {
      if (!isTransient(error) || stopping.aborted) throw error;
      options.log.warn({ err: error }, 'the database does not answer; trying again');
      await sleep(PREPARE_RETRY_MS, undefined, { signal: stopping });
    }
  }
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function urlOf(address: AddressInfo, host: string): string {
  return `http://${hostInUrl(host)}:${address.port}`;
}
