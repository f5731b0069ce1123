import { runMigrations, Logger as WorkerLogger } from 'graphile-worker';
import pg from 'pg';
import sql from 'sql-template-tag';
import { type Db, SCHEMA, WALLED_ROLE } from './database.ts';

/** Any number that no other program uses for an advisory lock in this database. */
const QUEUE_LOCK = 7_340_118_227;
/** Tells the locks that mark a node's worker as alive from other advisory locks. */
const ALIVE_LOCK_CLASS = 734_011;
const CONNECT_TIMEOUT_MS = 5_000;

/** Every task the program knows; the queue would keep a job of any other name for ever. */
export type TaskName =
  | 'send_mail'
  | 'forgot_password'
  | 'deliver_event'
  | 'detect_anomalies'
  | 'send_digests'
  | 'send_chat'
  | 'prune_webhook_deliveries'
  | 'announce_price_change'
  | 'correct_unpriced'
  | 'scrape_prices'
  | 'check_quotas'
  | 'check_plan_usage'
  | 'compute_savings'
  | 'build_cost_index'
  | 'prune_revoked_tokens'
  | 'prune_control_changes'
  | 'prune_password_resets'
  | 'forget_old_requests';

export interface JobOptions {
  maxAttempts?: number;
  runAt?: Date;
  /** Jobs of one queue run one at a time, whatever node they run on. */
  queue?: string;
}

/** Queued with the commit of the caller's transaction: undone, the job never was. */
export async function addJob(
  db: Db,
  task: TaskName,
  payload: Record<string, unknown>,
  options: JobOptions = {},
): Promise<void> {
  await db.query(sql`
    select add_job(${task}, ${JSON.stringify(payload)}::json, ${options.runAt ?? null}::timestamptz,
                   ${options.maxAttempts ?? null}::integer, ${options.queue ?? null}::text)`);
}

/** The part of the vault that jobs need. */
interface DeploymentSeal {
  sealForDeployment(purpose: string, plaintext: string): Buffer;
  openForDeployment(purpose: string, sealed: Buffer): string;
}

/** For jobs that carry secrets or addresses: the queue's table shows neither. The task's name is the purpose. */
export async function addSealedJob(
  db: Db,
  seal: DeploymentSeal,
  task: TaskName,
  payload: Record<string, unknown>,
  options?: JobOptions,
): Promise<void> {
  const sealed = seal.sealForDeployment(task, JSON.stringify(payload)).toString('base64');
  await addJob(db, task, { sealed }, options);
}

export function openSealedJob(
  seal: DeploymentSeal,
  task: TaskName,
  payload: unknown,
): Record<string, unknown> {
  const { sealed } = payload as { sealed: string };
  return JSON.parse(seal.openForDeployment(task, Buffer.from(sealed, 'base64')));
}

/**
 * Brings the queue's own schema forward, and gives our transactions one narrow door to it. The queue's tables
 * are closed to everyone but their owner (row-level security without a policy), and a walled transaction is
 * not their owner; the door runs with the owner's rights and can do nothing but add a job.
 */
export async function migrateJobQueue(url: string): Promise<void> {
  const pool = openJobQueuePool(url, 1, () => undefined);
  try {
    await runMigrations({ pgPool: pool, logger: silentLogger() });
    const client = await pool.connect();
    try {
      // "create or replace" by two nodes at once would fail one of them; the lock lets them go one by one.
      await client.query('begin');
      await client.query('select pg_advisory_xact_lock($1)', [QUEUE_LOCK]);
      await client.query(ADD_JOB_DOOR);
      await client.query('commit');
    } finally {
      client.release(true);
    }
  } finally {
    await pool.end();
  }
}

const ADD_JOB_DOOR = `
  drop function if exists ${SCHEMA}.add_job(text, json, timestamptz, integer);
  create or replace function ${SCHEMA}.add_job(
    task text, payload json, run_at timestamptz, max_attempts integer, queue text default null) returns void
  language plpgsql security definer set search_path = pg_catalog as $door$
  begin
    perform graphile_worker.add_job(
      task, payload => add_job.payload, run_at => add_job.run_at, max_attempts => add_job.max_attempts,
      queue_name => add_job.queue);
  end $door$;
  revoke all on function ${SCHEMA}.add_job from public;
  do $$
  begin
    if exists (select from pg_roles where rolname = '${WALLED_ROLE}') then
      grant execute on function ${SCHEMA}.add_job to ${WALLED_ROLE};
    end if;
  end $$`;

/** The queue works with the rights of the URL's own role: it owns the queue's schema and touches nothing else. */
export function openJobQueuePool(url: string, connections: number, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'gateway-jobs',
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  pool.on('error', onError);
  // A connection that breaks while it is in use says so on itself, not on the pool.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/** Held by the connection, not written down: however a node dies, its mark goes with it. */
export async function markWorkerAlive(client: pg.ClientBase, workerId: string): Promise<void> {
  await client.query('select pg_advisory_lock($1, hashtext($2))', [ALIVE_LOCK_CLASS, workerId]);
}

/**
 * Gives the jobs of dead nodes back to the queue, which by itself would wait four hours. A lock younger than
 * the grace is left alone: its node may not have come to mark itself yet.
 */
export async function releaseJobsOfDeadWorkers(client: pg.ClientBase, graceSeconds: number): Promise<void> {
  await client.query(
    `with dead as (
       select distinct locked_by from graphile_worker._private_jobs
        where locked_at < now() - make_interval(secs => $2)
          and not exists (
            select from pg_locks
             where locktype = 'advisory' and granted
               and database = (select oid from pg_database where datname = current_database())
               and classid = $1 and objid = (hashtext(locked_by)::bigint & 4294967295)::oid and objsubid = 2))
     select graphile_worker.force_unlock_workers(array_agg(locked_by)) from dead having count(*) > 0`,
    [ALIVE_LOCK_CLASS, graceSeconds],
  );
}

/** What was given up stays for the operator to see, and then goes: nobody will run it again. */
export async function deleteOldFailedJobs(client: pg.ClientBase, keptDays: number): Promise<void> {
  await client.query(
    `delete from graphile_worker._private_jobs
      where attempts >= max_attempts and locked_at is null and updated_at < now() - make_interval(days => $1)`,
    [keptDays],
  );
}

function silentLogger(): WorkerLogger {
  return new WorkerLogger(() => () => undefined);
}
