import sql from 'sql-template-tag';
import type { Db } from './database.ts';

const MAX_ERROR_CHARACTERS = 500;

export interface JobRunRow {
  name: string;
  /** Five cron fields, UTC. */
  schedule: string;
  last_started_at: Date | null;
  last_finished_at: Date | null;
  last_error: string | null;
  last_duration_ms: number | null;
}

/** Writes down what this program runs by the clock, so that nodes without workers know it too. */
export async function registerJobs(
  db: Db,
  jobs: ReadonlyArray<{ name: string; schedule: string }>,
): Promise<void> {
  // In one order everywhere: two nodes that start at once must not wait for each other's rows.
  await db.query(sql`
    insert into job_runs (name, schedule)
    select * from unnest(${jobs.map((job) => job.name)}::text[], ${jobs.map((job) => job.schedule)}::text[])
           as job (name, schedule)
     order by name
        on conflict (name) do update set schedule = excluded.schedule`);
  await db.query(sql`delete from job_runs where name <> all(${jobs.map((job) => job.name)}::text[])`);
}

export async function recordJobStart(db: Db, name: string, at: Date): Promise<void> {
  await db.query(sql`update job_runs set last_started_at = ${at} where name = ${name}`);
}

export async function recordJobEnd(
  db: Db,
  name: string,
  end: { at: Date; durationMs: number; error: string | null },
): Promise<void> {
  await db.query(sql`
    update job_runs
       set last_finished_at = ${end.at}, last_duration_ms = ${end.durationMs},
           last_error = ${end.error?.slice(0, MAX_ERROR_CHARACTERS) ?? null}
     where name = ${name}`);
}

export async function listJobRuns(db: Db): Promise<JobRunRow[]> {
  return db.query<JobRunRow>(sql`select * from job_runs order by name`);
}

export async function isJobKnown(db: Db, name: string): Promise<boolean> {
  const rows = await db.query(sql`select from job_runs where name = ${name}`);
  return rows.length === 1;
}
