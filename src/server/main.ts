import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDataDir } from './adapters/data-dir.ts';
import { startEmbeddedPostgres } from './adapters/embedded-postgres.ts';
import { createLogger } from './adapters/log.ts';
import { loadSecrets } from './adapters/secrets.ts';
import { type App, runsOf, startApp } from './app.ts';
import { type Config, dashboardUrl, readConfig } from './config.ts';
import { readMigrations } from './store/migrations.ts';
import { startWorkers, type Workers } from './workers.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** One clear line and a failing exit: what a person at the terminal needs. */
function giveUp(line: string): never {
  process.stderr.write(`gateway: ${line}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const reading = readConfig(process.env);
  if (reading.kind === 'refused') giveUp(reading.problems.map(({ message }) => message).join('\ngateway: '));
  const { config } = reading;
  const log = createLogger(config.logLevel);
  const dataDir = await openDataDir(config.dataDir);
  if (dataDir.kind === 'refused') giveUp(dataDir.message);
  const secrets = await loadSecrets(config.dataDir, config.secretsGiven);
  if (secrets.kind === 'refused') giveUp(secrets.message);

  // Heard from here on, so that a signal during the start still stops what has been started, in order.
  const signalled = new Promise<undefined>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(undefined));
  });
  const postgres =
    config.databaseUrl === null ? await startEmbeddedPostgres({ dataDir: config.dataDir, log }) : null;
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const databaseUrl = config.databaseUrl ?? postgres!.connectionString;
  // With several proxy processes this one runs everything else.
  const runs = runsOf(config.role);
  const forks = runs.proxy && config.workers > 1;
  const app = await startApp({
    config,
    databaseUrl,
    secrets: secrets.secrets,
    migrations: await readMigrations(join(ROOT, 'migrations')),
    version,
    log,
    runs: { ...runs, proxy: runs.proxy && !forks },
  });
  let workers: Workers | null = null;
  const started = app.ready.then(async () => {
    if (forks) {
      const { masterKey, ...others } = secrets.secrets;
      const start = {
        config,
        databaseUrl,
        secrets: { ...others, masterKey: masterKey.toString('base64') },
        version,
      };
      workers = startWorkers(config.workers, start, log);
      await workers.ready;
    }
    const proxyUrl = forks ? `http://${config.host}:${config.proxyPort}` : app.proxyUrl;
    printAddresses(config, { apiUrl: app.apiUrl, proxyUrl }, postgres?.dataDirectory ?? null);
  });
  const settled = started.then(
    () => signalled,
    (error: Error) => error,
  );
  const failure = await Promise.race([signalled, settled]);
  if (failure) process.stderr.write(`gateway: ${failure.message}\n`);
  await (workers as Workers | null)?.stop();
  await app.stop();
  await postgres?.stop();
  await dataDir.release();
  process.exit(failure ? 1 : 0);
}

function printAddresses(
  config: Config,
  app: Pick<App, 'apiUrl' | 'proxyUrl'>,
  postgresDirectory: string | null,
): void {
  const lines = ['Gateway is running.', ''];
  if (app.apiUrl) {
    const dashboard = dashboardUrl(config, Number(new URL(app.apiUrl).port));
    lines.push(
      `  dashboard   ${dashboard}/`,
      `  API         ${app.apiUrl}/v1`,
      `  docs        ${app.apiUrl}/docs`,
    );
  }
  if (app.proxyUrl) lines.push(`  proxy       ${app.proxyUrl}/v1/proxy/{provider}/`);
  lines.push('', `  data        ${config.dataDir}`);
  if (postgresDirectory) lines.push(`  PostgreSQL  ${postgresDirectory}`);
  if (!config.secretsGiven.operatorToken) {
    lines.push(`  operator    its token is in ${join(config.dataDir, 'secrets.json')}`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

main().catch((error: Error) => giveUp(error.message));
