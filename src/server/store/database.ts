import pg from 'pg';
import sql, { type Sql } from 'sql-template-tag';
import { isRefusal } from '../../contract/errors.ts';

/** Everything of ours lies in one schema, so that a database with other tables in it can be used. */
export const SCHEMA = 'gateway';
/** Held by connections whose own role would walk through row-level security. */
export const WALLED_ROLE = 'gateway_walled';

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 60_000;
/** A server answers a statement that ran out of time within this, or is not there. */
const SILENCE_MS = 1_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 60_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** One transaction, acting for one tenant or for the system. */
export interface Db {
  query<Row>(statement: Sql): Promise<Row[]>;
}

export interface Database {
  /** A transaction that sees one tenant's rows only. Undone when the work throws or answers with a refusal. */
  asTenant<T>(tenantId: string, work: (db: Db) => Promise<T>): Promise<T>;
  /** A transaction of the program itself, which sees every tenant's rows. */
  asSystem<T>(work: (db: Db) => Promise<T>): Promise<T>;
  stats(): { total: number; idle: number; waiting: number };
  close(): Promise<void>;
}

// int8 as a number: sums of money and tokens stay far below 2^53, and a value that would not is a fault.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`integer from the database does not fit: ${text}`);
  return value;
});
// Days stay text (YYYY-MM-DD); the driver would make them local midnights.
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text);

export function openDatabase(options: {
  url: string;
  name: string;
  connections: number;
  /** For work that somebody waits for; without it, the longest any statement may take. */
  statementTimeoutMs?: number;
  onIdleError: (error: Error) => void;
}): Database {
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.name,
    max: options.connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    // A statement whose server went away without a word must not hold its caller for the kernel's two hours.
    query_timeout: statementTimeoutMs + SILENCE_MS,
    keepAlive: true,
    onConnect: prepareConnection,
  });
  pool.on('error', options.onIdleError);
  // The pool listens to idle connections only; one that breaks in the middle of its work would end the process.
  pool.on('connect', (client) => client.on('error', options.onIdleError));

  async function transact<T>(actingFor: string, work: (db: Db) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    let broken: Error | undefined;
    try {
      await client.query(`begin; set local gateway.tenant_id = '${actingFor}'`);
      const result = await work({ query: async (statement) => (await client.query(statement)).rows });
      await client.query(isRefusal(result) ? 'rollback' : 'commit');
      return result;
    } catch (error) {
      // A connection that did not answer would not answer this either, and is let go of.
      if (isSilence(error)) broken = error;
      else
        await client.query('rollback').catch((rollbackError: Error) => {
          broken = rollbackError;
        });
      throw error;
    } finally {
      client.release(broken);
    }
  }

  return {
    asTenant: (tenantId, work) => {
      if (!UUID.test(tenantId)) throw new Error('a tenant id must be a UUID in lower case');
      return transact(tenantId, work);
    },
    asSystem: (work) => transact('system', work),
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  };
}

/** A superuser's connection would ignore row-level security, so it gives its rights up for the walled role. */
async function prepareConnection(client: pg.ClientBase): Promise<void> {
  await client.query(`
    set search_path = ${SCHEMA};
    select set_config('role', walled.rolname, false)
      from pg_roles me, pg_roles walled
     where me.rolname = session_user and (me.rolsuper or me.rolbypassrls)
       and walled.rolname = '${WALLED_ROLE}'`);
}

/** As the driver says it when nothing came back in time. */
function isSilence(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** Errors that say nothing about the statement, only about the moment: worth another try. */
export function isTransient(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  if (typeof code !== 'string')
    return /timeout|terminated|Connection/i.test(String((error as Error)?.message));
  return (
    code === '40001' || // serialization failure
    code === '40P01' || // deadlock
    code === '55P03' || // lock not available
    code === '57014' || // cancelled by a time-out
    code.startsWith('08') || // connection
    code.startsWith('53') || // out of resources
    code.startsWith('57P') || // server going down or coming up
    code === '25006' || // read-only server: a failover is under way
    code.startsWith('E') // ECONNREFUSED, ECONNRESET, EPIPE, ENOTFOUND…
  );
}

/** Whether the database answers at all. */
export async function ping(db: Db): Promise<void> {
  await db.query(sql`select 1`);
}

/** An array as PostgreSQL writes it; the driver would look for characters to escape in every element. */
export function uuidArray(ids: readonly string[]): string {
  return `{${ids.join(',')}}`;
}
