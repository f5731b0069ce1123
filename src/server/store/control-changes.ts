import type { Socket } from 'node:net';
import pg from 'pg';
import sql from 'sql-template-tag';
import { type Db, SCHEMA } from './database.ts';
import { RECALL_CHANNEL, type Recall } from './leases.ts';

const CONTROL_CHANNEL = 'gateway_control';

/** What proxies hold in memory and may have to read again: one tenant's state, or the price book. */
export type ControlSubject = `tenant:${string}` | 'prices';

/** Tells every node, with the commit of the transaction that made the change. */
export async function announceChange(db: Db, subject: ControlSubject): Promise<void> {
  await db.query(sql`
    with written as (insert into control_changes (subject) values (${subject}) returning subject)
    select pg_notify(${CONTROL_CHANNEL}, subject) from written`);
}

export interface ControlConnection {
  /**
   * The changes of the last moments. Ids are handed out before their transactions commit, so a reader that
   * remembered the highest id could miss a late one; a window of time that overlaps the last look cannot.
   */
  listRecentChanges(windowSeconds: number): Promise<Array<{ id: number; subject: string }>>;
  drop(): void;
}

const CONNECT_TIMEOUT_MS = 2_000;

/** A connection of its own that hears announcements. Every question on it must be answered within `patienceMs`. */
export async function openControlConnection(options: {
  url: string;
  patienceMs: number;
  onAnnouncement: () => void;
  onRecall: (recall: Recall) => void;
}): Promise<ControlConnection> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'gateway-control',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: options.patienceMs,
  });
  // A lost connection shows at the next question; unheard it would end the process.
  client.on('error', () => {});
  client.on('notification', ({ channel, payload }) => {
    if (channel === CONTROL_CHANNEL) options.onAnnouncement();
    else options.onRecall(JSON.parse(payload!) as Recall);
  });
  // A graceful goodbye would wait for a server that may never answer.
  const drop = () => (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  try {
    await client.connect();
    await client.query(`set search_path = ${SCHEMA}; listen ${CONTROL_CHANNEL}; listen ${RECALL_CHANNEL}`);
  } catch (error) {
    drop();
    throw error;
  }
  return {
    drop,
    async listRecentChanges(windowSeconds) {
      const { rows } = await client.query(sql`
        select id, subject from control_changes
         where changed_at > clock_timestamp() - make_interval(secs => ${windowSeconds})
         order by id`);
      return rows;
    },
  };
}

export async function deleteOldChanges(db: Db): Promise<void> {
  await db.query(sql`delete from control_changes where changed_at < clock_timestamp() - interval '1 hour'`);
}
