import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, type FileHandle, open, rename, stat, truncate } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readIfPresent } from './durable-file.ts';
import type { Logger } from './log.ts';
import { POSTGRES_ENV } from './postgres-binaries.ts';
import { type Cluster, openCluster, stopPostgres } from './postgres-cluster.ts';
import { sendSignal, waitUntil } from './processes.ts';

const HOST = '127.0.0.1';
const START_ATTEMPTS = 5;
/** Long, because recovery after a crash may have a lot of journal to replay. */
const READY_LIMIT_MS = 300_000;
const STOP_LIMIT_MS = 20_000;
const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 15_000;
/** A server that ran this long was healthy: its next end is a new incident. */
const HEALTHY_MS = 60_000;
const LOG_MAX_BYTES = 10 * 1024 * 1024;
const LOG_CHECK_MS = 60_000;
const LOG_TAIL_BYTES = 2048;

const SETTINGS = {
  listen_addresses: HOST,
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  wal_buffers: '8MB',
  min_wal_size: '80MB',
  max_wal_size: '512MB',
  jit: 'off',
  // Two cores serve the proxy too: one report must not take them both.
  max_parallel_workers_per_gather: '0',
  io_method: 'sync',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  // Details quote the values of rows, which have no place in a log.
  log_error_verbosity: 'terse',
  logging_collector: 'off',
};

export type PostgresExit = { code: number | null; signal: NodeJS.Signals | null };

export type EmbeddedPostgres = {
  /** For the role `gateway`, owner of the database `gateway`, no superuser; stays the same over restarts of the server. */
  connectionString: string;
  dataDirectory: string;
  stop: () => Promise<void>;
  /** Told whenever the server ended without being asked to; by then its restart is under way. */
  onExit: (listener: (exit: PostgresExit) => void) => void;
};

type Launch = { kind: 'ready' } | { kind: 'failed'; reason: string };

export async function startEmbeddedPostgres(options: {
  dataDir: string;
  log: Logger;
}): Promise<EmbeddedPostgres> {
  const { dataDir, log } = options;
  const cluster = await openCluster(dataDir, log);
  const server = new PostgresServer(cluster, join(dataDir, 'postgres.log'), log);
  try {
    await server.start();
    if (cluster.isNew) {
      await createGatewayDatabase(cluster, server.port);
      await cluster.markInitialized();
    }
  } catch (fault) {
    await server.stop();
    throw fault;
  }
  return {
    connectionString: `postgresql://gateway:${cluster.gatewayPassword}@${HOST}:${server.port}/gateway?sslmode=disable`,
    dataDirectory: cluster.directory,
    stop: () => server.stop(),
    onExit: (listener) => server.exitListeners.push(listener),
  };
}

/** May run a second time when the first start was killed before it could say that it was done. */
async function createGatewayDatabase(cluster: Cluster, port: number): Promise<void> {
  const client = new pg.Client({
    connectionString: `postgresql://postgres:${cluster.superuserPassword}@${HOST}:${port}/postgres?sslmode=disable`,
  });
  await client.connect();
  try {
    // The password stands in a statement; a failing statement would be logged.
    await client.query('set log_min_error_statement = panic');
    const password = client.escapeLiteral(cluster.gatewayPassword);
    const roles = await client.query("select 1 from pg_roles where rolname = 'gateway'");
    if (roles.rowCount === 0) await client.query('create role gateway');
    await client.query(
      `alter role gateway login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password ${password}`,
    );
    const databases = await client.query("select 1 from pg_database where datname = 'gateway'");
    if (databases.rowCount === 0) await client.query('create database gateway owner gateway');
    await client.query('revoke all on database gateway from public');
  } finally {
    await client.end();
  }
}

/** One PostgreSQL server process, kept running until it is told to stop. */
class PostgresServer {
  port = 0;
  readonly exitListeners: ((exit: PostgresExit) => void)[] = [];
  readonly #cluster: Cluster;
  readonly #logFile: string;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #logTimer: NodeJS.Timeout;
  #child: ChildProcess | null = null;
  #restarting: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster, logFile: string, log: Logger) {
    this.#cluster = cluster;
    this.#logFile = logFile;
    this.#log = log;
    this.#logTimer = setInterval(() => void boundLog(logFile), LOG_CHECK_MS).unref();
    process.on('exit', this.#stopWithProcess);
  }

  /** However this process comes to end, the database is at least asked to follow. */
  readonly #stopWithProcess = (): void => {
    if (this.#child?.pid !== undefined && !hasEnded(this.#child)) sendSignal(this.#child.pid, 'SIGINT');
  };

  async start(): Promise<void> {
    await rename(this.#logFile, `${this.#logFile}.1`).catch(() => undefined);
    let reason = '';
    for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
      this.port = await findFreePort();
      const launch = await this.#launch();
      if (launch.kind === 'ready') return;
      reason = launch.reason;
      // Somebody else may take the port between our look and the server's: then another one will do.
      if (!/could not bind|could not create any TCP\/IP sockets/.test(reason)) break;
    }
    throw new Error(`the embedded PostgreSQL did not start: ${reason} (see ${this.#logFile})`);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#logTimer);
    const child = this.#child;
    if (child?.pid !== undefined && !hasEnded(child)) {
      const ended = once(child, 'exit');
      sendSignal(child.pid, 'SIGINT');
      await Promise.race([ended, sleep(STOP_LIMIT_MS, undefined, { ref: false })]);
    }
    await this.#restarting;
    await stopPostgres(this.#cluster.directory, this.#log);
    process.off('exit', this.#stopWithProcess);
  }

  async #launch(): Promise<Launch> {
    const { directory, user, binaries } = this.#cluster;
    const settings = Object.entries({ ...SETTINGS, port: String(this.port) });
    const output = await open(this.#logFile, 'a', 0o600);
    const logStart = (await output.stat()).size;
    const child = spawn(
      binaries.postgres,
      ['-D', directory, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      // A session of its own: Ctrl-C in the terminal must reach only us, who still have a journal to flush into it.
      {
        ...(user ?? {}),
        cwd: directory,
        env: POSTGRES_ENV,
        detached: true,
        stdio: ['ignore', output.fd, output.fd],
      },
    );
    this.#child = child;
    let spawnFault: Error | null = null;
    child.once('error', (fault) => {
      spawnFault = fault;
    });
    const isDone = async () => spawnFault !== null || hasEnded(child) || (await this.#isReady(child));
    const isInTime = await waitUntil(isDone, READY_LIMIT_MS);
    const failed = !isInTime || spawnFault !== null || hasEnded(child);
    const tail = failed ? await readTail(this.#logFile, logStart) : '';
    await output.close();
    if (!failed) {
      this.#watch(child);
      return { kind: 'ready' };
    }
    if (!isInTime) await stopPostgres(directory, this.#log);
    return { kind: 'failed', reason: describeFailure(spawnFault, tail) };
  }

  /** The server writes its state into its pid file; an older server's file names another pid. */
  async #isReady(child: ChildProcess): Promise<boolean> {
    const lines = ((await readIfPresent(join(this.#cluster.directory, 'postmaster.pid'))) ?? '').split('\n');
    return Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready';
  }

  #watch(child: ChildProcess): void {
    const startedAt = performance.now();
    const ended = (code: number | null, signal: NodeJS.Signals | null) => {
      if (this.#stopping.signal.aborted) return;
      this.#log.error({ code, signal }, 'PostgreSQL ended unexpectedly; restarting it');
      const wasHealthy = performance.now() - startedAt > HEALTHY_MS;
      this.#restarting = this.#restart(wasHealthy ? 0 : BACKOFF_FIRST_MS);
      for (const listener of this.exitListeners) listener({ code, signal });
    };
    if (hasEnded(child)) ended(child.exitCode, child.signalCode);
    else child.once('exit', ended);
  }

  /** On the same port, so that every connection string in use becomes good again. */
  async #restart(firstDelayMs: number): Promise<void> {
    const { signal } = this.#stopping;
    for (
      let delayMs = firstDelayMs;
      !signal.aborted;
      delayMs = Math.min(Math.max(delayMs * 2, BACKOFF_FIRST_MS), BACKOFF_MAX_MS)
    ) {
      try {
        await sleep(delayMs, undefined, { signal });
        await stopPostgres(this.#cluster.directory, this.#log);
        const launch = await this.#launch();
        if (launch.kind === 'ready') {
          this.#log.info('PostgreSQL is running again');
          return;
        }
        this.#log.error({ reason: launch.reason }, 'PostgreSQL could not be restarted; trying again');
      } catch (fault) {
        if (!signal.aborted)
          this.#log.error({ err: fault }, 'PostgreSQL could not be restarted; trying again');
      }
    }
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function describeFailure(spawnFault: Error | null, logTail: string): string {
  if (spawnFault !== null) return spawnFault.message;
  const lines = logTail.trim().split('\n');
  return (
    lines.filter((line) => /FATAL|PANIC|WARNING|ERROR/.test(line)).join(' | ') || lines.at(-1) || 'no output'
  );
}

async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, HOST);
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP port could be had');
  return address.port;
}

async function readTail(file: string, from: number): Promise<string> {
  let handle: FileHandle | null = null;
  try {
    handle = await open(file, 'r');
    const { size } = await handle.stat();
    const start = Math.max(from, size - LOG_TAIL_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LOG_TAIL_BYTES), 0, LOG_TAIL_BYTES, start);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle?.close();
  }
}

/** The server holds the file open for appending, so it is copied and emptied, not renamed. */
async function boundLog(file: string): Promise<void> {
  try {
    if ((await stat(file)).size <= LOG_MAX_BYTES) return;
    await copyFile(file, `${file}.1`);
    await truncate(file);
  } catch {
    // A log that cannot be trimmed now is tried again in a minute; the database must not suffer for it.
  }
}
