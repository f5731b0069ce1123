import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { SCHEMA, WALLED_ROLE } from './database.ts';

/** Any number that no other program uses for an advisory lock in this database. */
const MIGRATION_LOCK = 7_340_118_226;

export interface Migration {
  name: string;
  sql: string;
}

export async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => ({ name, sql: await readFile(join(directory, name), 'utf8') })),
  );
}

/**
 * Brings the schema forward. One node at a time (an advisory lock), each migration in a transaction of its
 * own; a database that a newer program has migrated, or whose past was edited, is refused.
 */
export async function migrate(url: string, migrations: readonly Migration[]): Promise<{ applied: string[] }> {
  const client = new pg.Client({ connectionString: url, application_name: 'gateway-migrate' });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query(`create schema if not exists ${SCHEMA}`);
    await client.query(`set search_path = ${SCHEMA}`);
    await client.query(`
      create table if not exists schema_migrations (
        name text primary key, checksum text not null, applied_at timestamptz not null default now())`);
    const { rows: done } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from schema_migrations order by name',
    );
    refuseForeignHistory(done, migrations);
    const applied: string[] = [];
    for (const migration of migrations.slice(done.length)) {
      await apply(client, migration);
      applied.push(migration.name);
    }
    await provideWalledRole(client);
    return { applied };
  } finally {
    await client.end();
  }
}

function checksum(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex');
}

function refuseForeignHistory(
  done: readonly { name: string; checksum: string }[],
  known: readonly Migration[],
): void {
  for (const [index, row] of done.entries()) {
    const migration = known[index];
    if (!migration || migration.name !== row.name) {
      throw new Error(
        `the database has the migration ${row.name}, which this version of Gateway does not know`,
      );
    }
    if (checksum(migration) !== row.checksum) {
      throw new Error(`the migration ${row.name} was edited after it had been applied to this database`);
    }
  }
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(migration.sql);
    await client.query('insert into schema_migrations (name, checksum) values ($1, $2)', [
      migration.name,
      checksum(migration),
    ]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error });
  }
}

/** Only where the URL's role is above row-level security; an ordinary owner is bound by it anyway (FORCE). */
async function provideWalledRole(client: pg.Client): Promise<void> {
  await client.query(`
    do $$
    begin
      if (select rolsuper or rolbypassrls from pg_roles where rolname = session_user) then
        if not exists (select from pg_roles where rolname = '${WALLED_ROLE}') then
          create role ${WALLED_ROLE} nologin nosuperuser nobypassrls;
        end if;
        grant usage, create on schema ${SCHEMA} to ${WALLED_ROLE};
        grant all on all tables in schema ${SCHEMA} to ${WALLED_ROLE};
        grant all on all sequences in schema ${SCHEMA} to ${WALLED_ROLE};
        grant all on all routines in schema ${SCHEMA} to ${WALLED_ROLE};
      end if;
    end $$`);
}
