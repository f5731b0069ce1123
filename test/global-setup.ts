import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../src/server/adapters/embedded-postgres.ts';
import { createLogger } from '../src/server/adapters/log.ts';
import { migrateJobQueue } from '../src/server/store/jobs.ts';
import { migrate, readMigrations } from '../src/server/store/migrations.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's address of the run's PostgreSQL, with the database `template_gateway` migrated. */
    postgresUrl: string;
  }
}

export const TEMPLATE = 'template_gateway';

/** One real PostgreSQL for the whole run; every test file takes databases of its own from a migrated template. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Tests that start the program as a process run what was built.
  execFileSync(process.execPath, [join(import.meta.dirname, '..', 'scripts', 'build.mjs')], {
    stdio: 'inherit',
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-tests-'));
  const postgres = await startEmbeddedPostgres({ dataDir, log: createLogger('warn') });
  const { superuserPassword } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8'));
  const superuser = new URL(postgres.connectionString);
  superuser.username = 'postgres';
  superuser.password = superuserPassword;
  superuser.pathname = '/postgres';
  const client = new pg.Client({ connectionString: superuser.href });
  await client.connect();
  await client.query('alter role gateway createdb');
  // The run's databases live minutes; waiting for the disk at each commit would only make the tests slow.
  await client.query('alter system set synchronous_commit = off');
  await client.query('select pg_reload_conf()');
  await client.query(`create database ${TEMPLATE} owner gateway`);
  await client.end();
  const template = new URL(postgres.connectionString);
  template.pathname = `/${TEMPLATE}`;
  await migrate(template.href, await readMigrations(join(import.meta.dirname, '..', 'migrations')));
  await migrateJobQueue(template.href);
  project.provide('postgresUrl', postgres.connectionString);
  return async () => {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
