import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { operations } from '../contract/index.ts';
import type { Logger } from './adapters/log.ts';
import { type Mailer, openMailer } from './adapters/mailer.ts';
import { type GaugeFigures, type Metrics, openMetrics } from './adapters/metrics.ts';
import { type Outbound, openOutbound } from './adapters/outbound.ts';
import type { Secrets } from './adapters/secrets.ts';
import { openVault, type Vault } from './adapters/vault.ts';
import { apiHandlers } from './api/index.ts';
import { LiveTail } from './api/live-tail.ts';
import type { ApiParts } from './api/parts.ts';
import { type Config, dashboardUrl } from './config.ts';
import { priceToJson } from './domain/price-json.ts';
import { SEED_MODELS } from './domain/seed-prices.ts';
import { Heartbeat } from './heartbeat.ts';
import { parseNetworks } from './http/client-ip.ts';
import { registerDashboard } from './http/dashboard.ts';
import { registerDocs } from './http/docs-page.ts';
import { registerMetrics } from './http/metrics.ts';
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
const INGEST_CONNECTIONS = 3;
/** A call that waits for budget money is better refused than kept waiting on a database that does not answer. */
const LEASE_CONNECTIONS = 3;
const LEASE_STATEMENT_MS = 4_000;
const PREPARE_RETRY_MS = 1_000;
/** What an API call under way may still take at shutdown. */
const API_CLOSE_PATIENCE_MS = 5_000;

export interface AppOptions {
  config: Config;
  databaseUrl: string;
  secrets: Secrets;
  /** Null when another process of ours has prepared the database. */
  migrations: readonly Migration[] | null;
  version: string;
  log: Logger;
  nowMs?: () => number;
  /** Which parts this process runs; without it, those of the configured role. */
  runs?: Runs;
  /** Each proxy process on a machine has a journal of its own. */
  journalSlot?: number;
}

export interface Runs {
  api: boolean;
  proxy: boolean;
  jobs: boolean;
}

export function runsOf(role: Config['role']): Runs {
  const has = (part: Config['role']) => role === 'all' || role === part;
  return { api: has('api'), proxy: has('proxy'), jobs: has('worker') };
}

export interface App {
  apiUrl: string | null;
  proxyUrl: string | null;
  /** Settled when the database is migrated and everything runs; the listeners are open before that. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/** What every part of the program works with. */
interface Foundation {
  database: Database;
  vault: Vault;
  mailer: Mailer;
  outbound: Outbound;
  snapshots: Snapshots;
  liveTail: LiveTail;
  metrics: Metrics;
  heartbeat: Heartbeat;
  nowMs: () => number;
}

/**
 * Builds the program from its parts and opens its listeners. A database that is away is waited for: the
 * listeners answer meanwhile, and everything that needs it starts when it comes.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { config } = options;
  const runs = options.runs ?? runsOf(config.role);
  const foundation = layFoundation(options);
  const { database, liveTail } = foundation;

  const proxy = runs.proxy ? await openProxy(options, foundation) : null;
  const api = runs.api ? await openApi(options, foundation, proxy?.port ?? config.proxyPort) : null;
  foundation.metrics.readGaugesFrom(() => gaugesOf(foundation, proxy));
  foundation.heartbeat.describe(() => describeNode(config, foundation, proxy));
  const stopping = new AbortController();
  let jobs: { stop(): Promise<void> } | null = null;
  const start = async () => {
    if (options.migrations) await prepareDatabase(options, options.migrations, database, stopping.signal);
    await proxy?.dataPlane.start();
    foundation.heartbeat.start();
    if (runs.jobs) jobs = await startJobs(jobParts(options, foundation, api?.port ?? config.port));
  };
  const ready = start();
  ready.catch(() => {});
  return {
    apiUrl: api && urlOf(config.host, api.port),
    proxyUrl: proxy && urlOf(config.host, proxy.port),
    ready,
    async stop() {
      stopping.abort();
      await ready.catch(() => {});
      liveTail.stop();
      await Promise.all([api?.stop(), proxy?.stop()]);
      await jobs?.stop();
      await foundation.heartbeat.stop();
      await database.close();
    },
  };
}

function layFoundation(options: AppOptions): Foundation {
  const { config, log, databaseUrl } = options;
  const nowMs = options.nowMs ?? Date.now;
  const database = openDatabase({
    url: databaseUrl,
    name: 'gateway-api',
    connections: API_CONNECTIONS,
    onIdleError: (error) => log.debug({ err: error }, 'a database connection broke'),
  });
  const vault = openVault(options.secrets.masterKey);
  return {
    database,
    vault,
    mailer: openMailer({
      smtpUrl: config.mail.smtpUrl,
      from: config.mail.from,
      outboxDir: join(config.dataDir, 'outbox'),
      nowMs,
    }),
    outbound: openOutbound({ allowPrivate: config.webhookAllowPrivate }),
    snapshots: new Snapshots({ database, vault, log }),
    liveTail: new LiveTail({ database, log }),
    metrics: openMetrics(),
    heartbeat: new Heartbeat({ database, role: config.role, nowMs, log }),
    nowMs,
  };
}

type OpenProxy = Awaited<ReturnType<typeof openProxy>>;

function gaugesOf({ database }: Foundation, proxy: OpenProxy | null): GaugeFigures {
  const status = proxy?.dataPlane.status();
  return {
    requestsInFlight: status?.requestsInFlight ?? 0,
    journalBytes: status?.journal.bytes ?? 0,
    journalWritable: status?.journal.writable ?? false,
    ingestLagMs: status?.ingest.lagMs ?? 0,
    pools: { api: database.stats(), ...(proxy && { ingest: proxy.database.stats() }) },
  };
}

function describeNode(config: Config, { database }: Foundation, proxy: OpenProxy | null) {
  const status = proxy?.dataPlane.status();
  return {
    pools: { api: database.stats(), ...(proxy && { ingest: proxy.database.stats() }) },
    requestsInFlight: status?.requestsInFlight ?? null,
    journal: status
      ? {
          recordsPending: status.journal.recordsPending,
          bytes: status.journal.bytes,
          maxBytes: config.journalMaxBytes,
        }
      : null,
    ingest: status?.ingest ?? null,
  };
}

/** With pools of its own, so that a busy API cannot starve the way into the ledger, nor that the budgets. */
async function openProxy(options: AppOptions, { snapshots, liveTail, metrics, nowMs }: Foundation) {
  const { config, log, databaseUrl, secrets } = options;
  const onIdleError = (error: Error) => log.debug({ err: error }, 'a database connection broke');
  const database = openDatabase({
    url: databaseUrl,
    name: 'gateway-ingest',
    connections: INGEST_CONNECTIONS,
    onIdleError,
  });
  const leaseDatabase = openDatabase({
    url: databaseUrl,
    name: 'gateway-leases',
    connections: LEASE_CONNECTIONS,
    statementTimeoutMs: LEASE_STATEMENT_MS,
    onIdleError,
  });
  const dataPlane = await openDataPlane({
    config,
    journalSlot: options.journalSlot ?? 1,
    databaseUrl,
    database,
    leaseDatabase,
    snapshots,
    ledgerSecret: secrets.ledgerSecret,
    metrics,
    onRecorded: () => liveTail.nudge(),
    log,
    nowMs,
  });
  const { port } = await listen(dataPlane.server, config.host, config.proxyPort);
  const stop = async () => {
    await dataPlane.stop();
    await Promise.all([database.close(), leaseDatabase.close()]);
  };
  return { dataPlane, database, port, stop };
}

async function openApi(options: AppOptions, foundation: Foundation, proxyPort: number) {
  const { config } = options;
  const server = buildApi(options, foundation);
  registerDashboard(server, { proxyPort, version: options.version });
  await server.listen({ host: config.host, port: config.port });
  const stop = async () => {
    // A connection that never asked anything would hold the shutdown until it times out.
    const cutOff = setTimeout(() => server.server.closeAllConnections(), API_CLOSE_PATIENCE_MS);
    await server.close();
    clearTimeout(cutOff);
  };
  return { port: (server.server.address() as AddressInfo).port, stop };
}

function jobParts(
  options: AppOptions,
  foundation: Foundation,
  apiPort: number,
): Parameters<typeof startJobs>[0] {
  const { config, databaseUrl, secrets, log } = options;
  return {
    databaseUrl,
    ...foundation,
    webhookRetryDelaysSeconds: config.webhookRetryDelaysSeconds,
    dashboardUrl: dashboardUrl(config, apiPort),
    ledgerSecret: secrets.ledgerSecret,
    priceSources: config.priceSources,
    retentionDays: config.retentionDays,
    log,
  };
}

function buildApi(options: AppOptions, foundation: Foundation): FastifyInstance {
  const { config, secrets } = options;
  const { database, snapshots, heartbeat, metrics, nowMs, ...adapters } = foundation;
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
    nodeStatus: () => heartbeat.status(),
  });
  // One allowance for everything that is sent because somebody asked for it.
  const testing = rateLimit(config.ratePerMinute.testing);
  const app = buildHttpServer({
    operations,
    handlers: handlers as never,
    rateLimits: {
      signup: rateLimit(config.ratePerMinute.signup),
      login: rateLimit(config.ratePerMinute.login),
      forgotPassword: rateLimit(config.ratePerMinute.forgot),
      testWebhook: testing,
      replayWebhookDelivery: testing,
      testAlerts: testing,
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
  registerMetrics(app, () => metrics.text(), secrets.operatorToken);
  return app;
}

/** Schema, job queue and shipped prices; tried again while the database is away, given up when it refuses. */
async function prepareDatabase(
  options: AppOptions,
  migrations: readonly Migration[],
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
      const { applied } = await migrate(options.databaseUrl, migrations);
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

function urlOf(host: string, port: number): string {
  return `http://${hostInUrl(host)}:${port}`;
}
