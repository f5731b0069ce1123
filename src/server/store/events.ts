import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { ALERT_EVENT_TYPES } from '../../contract/webhooks.ts';
import type { Db } from './database.ts';
import { addJob } from './jobs.ts';

/** Everything that is told to the outside; `alert.all` is a wish of subscribers, never an event. */
export type EventType = (typeof ALERT_EVENT_TYPES)[number] | 'webhook.test';

export interface EventRow {
  id: string;
  type: EventType;
  data: Record<string, unknown>;
  created_at: Date;
}

/** Writes an event down and has it delivered, both with the caller's transaction or not at all. */
export async function emitEvent(
  db: Db,
  event: { tenantId: string; type: EventType; data: Record<string, unknown> },
): Promise<string> {
  const id = uuidv7();
  await db.query(sql`
    insert into events (tenant_id, id, type, data)
    values (${event.tenantId}, ${id}, ${event.type}, ${JSON.stringify(event.data)})`);
  await addJob(db, 'deliver_event', { tenant_id: event.tenantId, event_id: id });
  return id;
}

/** An event for one endpoint, which whoever writes it delivers; nobody else hears of it. */
export async function insertTestEvent(
  db: Db,
  tenantId: string,
  data: Record<string, unknown>,
): Promise<string> {
  const id = uuidv7();
  await db.query(sql`
    insert into events (tenant_id, id, type, data, fanned_out_at)
    values (${tenantId}, ${id}, 'webhook.test', ${JSON.stringify(data)}, now())`);
  return id;
}

export async function findEvent(db: Db, tenantId: string, id: string): Promise<EventRow | null> {
  const rows = await db.query<EventRow>(sql`
    select id, type, data, created_at from events where tenant_id = ${tenantId} and id = ${id}`);
  return rows[0] ?? null;
}

/**
 * Marks an event as taken to its receivers. Null when that was done: the row's lock makes a second job wait for
 * the first one's outcome.
 */
export async function takeEventForDelivery(db: Db, tenantId: string, id: string): Promise<EventRow | null> {
  const rows = await db.query<EventRow>(sql`
    update events set fanned_out_at = now()
     where tenant_id = ${tenantId} and id = ${id} and fanned_out_at is null
    returning id, type, data, created_at`);
  return rows[0] ?? null;
}

/** How many alerts of the hour before this one were told already. */
export async function countAlertEventsInHourBefore(
  db: Db,
  tenantId: string,
  event: EventRow,
): Promise<number> {
  const hourBefore = new Date(event.created_at.getTime() - 3_600_000);
  const rows = await db.query<{ count: number }>(sql`
    select count(*) from events
     where tenant_id = ${tenantId} and id >= first_id_at(${hourBefore}) and id < ${event.id}
       and type like 'alert.%'`);
  return rows[0]!.count;
}
