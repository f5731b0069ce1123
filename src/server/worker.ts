import { createLogger } from './adapters/log.ts';
import type { Secrets } from './adapters/secrets.ts';
import { type App, startApp } from './app.ts';
import type { Config } from './config.ts';

/** What a proxy process is told by the one that started it. */
export interface WorkerStart {
  config: Config;
  databaseUrl: string;
  /** The master key in base64: the channel carries JSON. */
  secrets: Omit<Secrets, 'masterKey'> & { masterKey: string };
  version: string;
  slot: number;
}

let app: App | null = null;

async function start(message: WorkerStart): Promise<void> {
  const { config, databaseUrl, secrets, version, slot } = message;
  app = await startApp({
    config,
    databaseUrl,
    secrets: { ...secrets, masterKey: Buffer.from(secrets.masterKey, 'base64') },
    migrations: null,
    version,
    log: createLogger(config.logLevel),
    runs: { api: false, proxy: true, jobs: false },
    journalSlot: slot,
  });
  await app.ready;
  process.send?.('ready');
}

async function stop(): Promise<void> {
  await app?.stop();
  process.exit(0);
}

// The terminal's Ctrl-C reaches every process of the group; we end when the one that started us says so. When that
// one is killed Node ends us at once, as it should: whoever is started in its place takes over our journal.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('message', (message: WorkerStart | 'stop') => {
  if (message === 'stop') return void stop();
  start(message).catch((error: Error) => {
    process.stderr.write(`gateway: ${error.message}\n`);
    process.exit(1);
  });
});
process.send?.('listening for orders');
