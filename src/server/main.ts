import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDataDir } from './adapters/data-dir.ts';
import { startEmbeddedPostgres } from './adapters/embedded-postgres.ts';
import { createLogger } from './adapters/log.ts';
import { loadSecrets } from './adapters/secrets.ts';
import { type App, startApp } from './app.ts';
import { type Config, dashboardUrl, readConfig } from './config.ts';
import { readMigrations } from './store/migrations.ts';

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

  const postgres =
    config.databaseUrl === null ? await startEmbeddedPostgres({ dataDir: config.dataDir, log }) : null;
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const app = await startApp({
    config,
    databaseUrl: config.databaseUrl ?? postgres!.connectionString,
    secrets: secrets.secrets,
    migrations: await readMigrations(join(ROOT, 'migrations')),
    version,
    log,
  });

  let stopping = false;
  const stop = async (exitCode: number) => {
    if (stopping) return;
    stopping = true;
    await app.stop();
    await postgres?.stop();
    await dataDir.release();
    process.exit(exitCode);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(0));

  try {
    await app.ready;
  } catch (error) {
    process.stderr.write(`gateway: ${(error as Error).message}\n`);
    return stop(1);
  }
  printAddresses(config, app, postgres?.dataDirectory ?? null);
}

function printAddresses(config: Config, app: App, postgresDirectory: string | null): void {
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
