import sql from 'sql-template-tag';
import type { Tailed, TailedRequest } from '../domain/tail.ts';
import { type Db, uuidArray } from './database.ts';

/**
 * What is kept of a tenant's tail: more than anybody may resume over, so that a node that reads it live can
 * fall behind a burst without losing any of it.
 */
const KEPT_EVENTS = 5_000;

const RFC_3339 = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

export interface TailCursor {
  tenantId: string;
  /** The last position that was read. */
  after: number;
}

export type PlacedEvent = Tailed & { tenantId: string; position: number };

/** Gives a batch of requests its place on the tails of their tenants, whose heads it holds until the commit. */
export async function appendRequestsToTail(
  db: Db,
  requests: ReadonlyArray<{ tenant_id: string; id: string }>,
): Promise<void> {
  await db.query(sql`
    with batch as (
      select tenant_id, array_agg(id order by place) as ids
        from unnest(${uuidArray(requests.map((request) => request.tenant_id))}::uuid[],
                    ${uuidArray(requests.map((request) => request.id))}::uuid[]) with ordinality as request (tenant_id, id, place)
       group by tenant_id),
    moved as (
      insert into tail_heads as head (tenant_id, position)
      select tenant_id, cardinality(ids) from batch order by tenant_id
          on conflict (tenant_id) do update set position = head.position + excluded.position
      returning tenant_id, position),
    dropped as (
      delete from tail_batches old using moved
       where old.tenant_id = moved.tenant_id and old.position <= moved.position - ${KEPT_EVENTS})
    insert into tail_batches (tenant_id, position, request_ids)
    select tenant_id, position, ids from moved join batch using (tenant_id)`);
}

/**
 * Gives an event its place on its tenant's tail, once however often it is asked for. In a transaction of its
 * own: it holds the tail's head, and batches of requests wait for that.
 */
export async function appendEventToTail(db: Db, tenantId: string, eventId: string): Promise<void> {
  await db.query(sql`
    with event as (
      select tenant_id, id from events
       where tenant_id = ${tenantId} and id = ${eventId} and tail_position is null
         for update),
    moved as (
      insert into tail_heads as head (tenant_id, position)
      select tenant_id, 1 from event
          on conflict (tenant_id) do update set position = head.position + 1
      returning tenant_id, position),
    placed as (
      update events set tail_position = moved.position
        from moved
       where events.tenant_id = moved.tenant_id and events.id = ${eventId})
    insert into tail_batches (tenant_id, position, event_id)
    select tenant_id, position, ${eventId} from moved`);
}

/** The position of the newest event; 0 before the first. */
export async function findTailHead(db: Db, tenantId: string): Promise<number> {
  const rows = await db.query<{ position: number }>(
    sql`select position from tail_heads where tenant_id = ${tenantId}`,
  );
  return rows[0]?.position ?? 0;
}

interface PlacedRow extends TailedRequest {
  tenant_id: string;
  position: number;
  event: { id: string; type: string; created_at: string; data: Record<string, unknown> } | null;
}

/**
 * The events after each tenant's cursor, in their order, so many of each at most. What retention has taken from
 * the log is left out. Every event is found by its key: a wide row of the log is read only for its own event.
 */
export async function listTailEvents(
  db: Db,
  cursors: readonly TailCursor[],
  limitPerTenant: number,
): Promise<PlacedEvent[]> {
  const rows = await db.query<PlacedRow>(sql`
    select placed.tenant_id, placed.position,
           case when event.id is not null then json_build_object(
             'id', event.id, 'type', event.type, 'data', event.data, 'created_at',
             to_char(event.created_at at time zone 'UTC', ${RFC_3339})) end as event,
           request.id,
           to_char(request.created_at at time zone 'UTC', ${RFC_3339}) as created_at,
           request.provider, request.model_requested, request.model_id, request.tokens_input,
           request.tokens_output, request.cost_microdollars, request.latency_total_ms, request.status_code,
           request.environment, request.team_id, team.name as team_name, team.slug as team_slug,
           request.service_name, request.user_name, request.end_customer, request.agent
      from unnest(${cursors.map((cursor) => cursor.tenantId)}::uuid[],
                  ${cursors.map((cursor) => cursor.after)}::bigint[]) as cursor (tenant_id, after)
     cross join lateral (
       select batch.tenant_id, entry.request_id, batch.event_id,
              batch.position - coalesce(cardinality(batch.request_ids), 1) + entry.place as position
         from (select * from tail_batches
                where tail_batches.tenant_id = cursor.tenant_id and tail_batches.position > cursor.after
                order by tail_batches.position
                limit ${limitPerTenant}) batch
        cross join lateral unnest(coalesce(batch.request_ids, array[null::uuid]))
              with ordinality as entry (request_id, place)
        where batch.position - coalesce(cardinality(batch.request_ids), 1) + entry.place > cursor.after
        order by 4
        limit ${limitPerTenant}) placed
      left join lateral (
        select * from requests
         where requests.tenant_id = placed.tenant_id and requests.id = placed.request_id) request on true
      left join events event on event.tenant_id = placed.tenant_id and event.id = placed.event_id
      left join teams team on team.tenant_id = placed.tenant_id and team.id = request.team_id
     where request.id is not null or event.id is not null
     order by placed.tenant_id, placed.position`);
  return rows.map(placedEvent);
}

function placedEvent(row: PlacedRow): PlacedEvent {
  const { tenant_id: tenantId, position, event, ...request } = row;
  return event === null
    ? { tenantId, position, kind: 'request', request }
    : { tenantId, position, kind: 'alert', event };
}
