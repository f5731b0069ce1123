import sql, { type Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from './database.ts';

/** Any number that no other program uses for an advisory lock in this database. */
const CLAIM_LOCK = 7_340_118_228;
const KEPT_DAYS = 90;

export interface DeliveryRow {
  id: string;
  event_id: string;
  event_type: string;
  status: 'pending' | 'succeeded' | 'failed';
  next_retry_at: Date | null;
  delivered_at: Date | null;
  given_up_reason: string | null;
  created_at: Date;
}

export interface AttemptRow {
  delivery_id: string;
  number: number;
  attempted_at: Date;
  duration_ms: number;
  status_code: number | null;
  error_message: string | null;
}

/** Everything an attempt needs, read at once. */
export interface DeliveryToSend {
  tenant_id: string;
  id: string;
  webhook_id: string;
  url: string;
  tenant_status: string;
  data_key_wrapped: Buffer;
  secret_sealed: Buffer;
  previous_secret_sealed: Buffer | null;
  previous_secret_valid_until: Date | null;
  event_id: string;
  event_type: string;
  event_data: Record<string, unknown>;
  event_created_at: Date;
}

const columns = sql`d.id, d.event_id, e.type as event_type, d.status, d.next_retry_at, d.delivered_at,
  d.given_up_reason, d.created_at`;
const sendingColumns = sql`d.tenant_id, d.id, d.webhook_id, w.url, t.status as tenant_status, t.data_key_wrapped,
  w.secret_sealed, w.previous_secret_sealed, w.previous_secret_valid_until,
  e.id as event_id, e.type as event_type, e.data as event_data, e.created_at as event_created_at`;

/** Once per event and endpoint, however often it is asked for. `nextRetryAt` null: only by hand. */
export async function insertDelivery(
  db: Db,
  tenantId: string,
  draft: { webhookId: string; eventId: string; nextRetryAt: Date | null },
): Promise<string> {
  const id = uuidv7();
  await db.query(sql`
    insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, next_retry_at)
    values (${tenantId}, ${id}, ${draft.webhookId}, ${draft.eventId}, ${draft.nextRetryAt})
        on conflict (tenant_id, webhook_id, event_id) do nothing`);
  return id;
}

export interface ClaimOptions {
  nowMs: number;
  claimSeconds: number;
  /** Endpoints whose last attempt failed, or all others. */
  failing: boolean;
  limit: number;
  /** At most so many at once for an endpoint that is known to answer; one for any other. */
  perEndpoint: number;
}

/**
 * Takes due deliveries for this node. One node claims at a time (the advisory lock), so that the bound on each
 * endpoint holds over all nodes; the recursion steps from endpoint to endpoint in the index of what is due, so
 * that a long backlog of one endpoint costs the others nothing. Rows that are just being recorded or given up
 * are left to that. Claims run on the database's clock: nodes whose clocks differ must agree on when one has ended.
 */
export async function claimDueDeliveries(db: Db, options: ClaimOptions): Promise<DeliveryToSend[]> {
  await db.query(sql`select pg_advisory_xact_lock(${CLAIM_LOCK})`);
  return db.query<DeliveryToSend>(sql`
    with recursive endpoints as (
      (select tenant_id, webhook_id from webhook_deliveries
        where status = 'pending' and next_retry_at is not null
        order by tenant_id, webhook_id limit 1)
      union all
      select next.tenant_id, next.webhook_id
        from endpoints e
       cross join lateral (
         select tenant_id, webhook_id from webhook_deliveries
          where status = 'pending' and next_retry_at is not null
            and (tenant_id, webhook_id) > (e.tenant_id, e.webhook_id)
          order by tenant_id, webhook_id limit 1) next
    ),
    picked as (
      select due.tenant_id, due.id
        from endpoints e
        join webhooks w on w.tenant_id = e.tenant_id and w.id = e.webhook_id
       cross join lateral (
         select count(*) as claims from webhook_deliveries c
          where c.tenant_id = e.tenant_id and c.webhook_id = e.webhook_id
            and c.claimed_until > clock_timestamp()) busy
       cross join lateral (
         select d.tenant_id, d.id, d.next_retry_at from webhook_deliveries d
          where d.tenant_id = e.tenant_id and d.webhook_id = e.webhook_id and d.status = 'pending'
            and d.next_retry_at <= ${new Date(options.nowMs)}
            and (d.claimed_until is null or d.claimed_until <= clock_timestamp())
          order by d.next_retry_at
          limit greatest(0, case when w.last_status = 'success' then ${options.perEndpoint}::bigint else 1 end
                            - busy.claims)
            for update skip locked) due
       where (w.failing_since is not null) = ${options.failing}
       order by due.next_retry_at
       limit ${options.limit}
    )
    update webhook_deliveries d
       set claimed_until = clock_timestamp() + make_interval(secs => ${options.claimSeconds})
      from picked, webhooks w, events e, tenants t
     where d.tenant_id = picked.tenant_id and d.id = picked.id
       and w.tenant_id = d.tenant_id and w.id = d.webhook_id
       and e.tenant_id = d.tenant_id and e.id = d.event_id
       and t.tenant_id = d.tenant_id
    returning ${sendingColumns}`);
}

/** For an attempt by hand, whatever state the delivery is in. */
export async function findDeliveryToSend(
  db: Db,
  tenantId: string,
  id: string,
): Promise<DeliveryToSend | null> {
  const rows = await db.query<DeliveryToSend>(sql`
    select ${sendingColumns}
      from webhook_deliveries d
      join webhooks w on w.tenant_id = d.tenant_id and w.id = d.webhook_id
      join events e on e.tenant_id = d.tenant_id and e.id = d.event_id
      join tenants t on t.tenant_id = d.tenant_id
     where d.tenant_id = ${tenantId} and d.id = ${id}`);
  return rows[0] ?? null;
}

/** Says that this node is still at it. Rows that are just being recorded need no longer claim. */
export async function renewClaims(
  db: Db,
  claims: readonly { tenant_id: string; id: string }[],
  claimSeconds: number,
): Promise<void> {
  const tenantIds = claims.map(({ tenant_id }) => tenant_id);
  const ids = claims.map(({ id }) => id);
  await db.query(sql`
    with held as (
      select d.tenant_id, d.id from webhook_deliveries d
        join unnest(${tenantIds}::uuid[], ${ids}::uuid[]) as mine (tenant_id, id)
          on mine.tenant_id = d.tenant_id and mine.id = d.id
       where d.claimed_until is not null
         for update of d skip locked)
    update webhook_deliveries d
       set claimed_until = clock_timestamp() + make_interval(secs => ${claimSeconds})
      from held where d.tenant_id = held.tenant_id and d.id = held.id`);
}

/** Another node may take it at once. */
export async function releaseClaim(db: Db, tenantId: string, id: string): Promise<void> {
  await db.query(sql`
    update webhook_deliveries set claimed_until = null where tenant_id = ${tenantId} and id = ${id}`);
}

export interface DeliveryProgress {
  status: 'pending' | 'succeeded' | 'failed';
  scheduled_attempts: number;
  next_retry_at: Date | null;
  delivered_at: Date | null;
}

/** Call under the endpoint's lock, which keeps the progress as it is until it is saved. */
export async function findDeliveryProgress(
  db: Db,
  tenantId: string,
  id: string,
): Promise<DeliveryProgress | null> {
  const rows = await db.query<DeliveryProgress>(sql`
    select status, scheduled_attempts, next_retry_at, delivered_at
      from webhook_deliveries where tenant_id = ${tenantId} and id = ${id}`);
  return rows[0] ?? null;
}

/** Call under the endpoint's lock. An attempt by hand leaves the claim of a node that is at it too. */
export async function saveDeliveryProgress(
  db: Db,
  tenantId: string,
  id: string,
  progress: DeliveryProgress & { endClaim: boolean },
): Promise<void> {
  await db.query(sql`
    update webhook_deliveries
       set status = ${progress.status}, scheduled_attempts = ${progress.scheduled_attempts},
           next_retry_at = ${progress.next_retry_at}, delivered_at = ${progress.delivered_at},
           claimed_until = case when ${progress.endClaim} then null else claimed_until end,
           given_up_reason = case when ${progress.status} = 'succeeded' then null else given_up_reason end
     where tenant_id = ${tenantId} and id = ${id}`);
}

/** Call under the endpoint's lock, or two attempts at once would take the same number. */
export async function insertAttempt(
  db: Db,
  tenantId: string,
  attempt: {
    deliveryId: string;
    attemptedAtMs: number;
    durationMs: number;
    statusCode: number | null;
    errorMessage: string | null;
  },
): Promise<void> {
  await db.query(sql`
    insert into webhook_attempts
      (tenant_id, delivery_id, number, attempted_at, duration_ms, status_code, error_message)
    select ${tenantId}, ${attempt.deliveryId}, coalesce(max(number), 0) + 1, ${new Date(attempt.attemptedAtMs)},
           ${attempt.durationMs}, ${attempt.statusCode}, ${attempt.errorMessage}
      from webhook_attempts where tenant_id = ${tenantId} and delivery_id = ${attempt.deliveryId}`);
}

/** What an endpoint still had to get, it will not get any more. */
export async function giveUpDeliveries(
  db: Db,
  tenantId: string,
  webhookId: string,
  reason: string,
): Promise<void> {
  await db.query(sql`
    update webhook_deliveries
       set status = 'failed', next_retry_at = null, claimed_until = null, given_up_reason = ${reason}
     where tenant_id = ${tenantId} and webhook_id = ${webhookId} and status = 'pending'`);
}

export async function listDeliveries(
  db: Db,
  tenantId: string,
  webhookId: string,
  page: { limit: number; offset: number },
): Promise<{ rows: DeliveryRow[]; attempts: AttemptRow[]; total: number }> {
  const ofWebhook = sql`d.tenant_id = ${tenantId} and d.webhook_id = ${webhookId}`;
  const rows = await selectDeliveries(
    db,
    sql`${ofWebhook} order by d.id desc limit ${page.limit} offset ${page.offset}`,
  );
  const counted = await db.query<{ total: number }>(
    sql`select count(*) as total from webhook_deliveries d where ${ofWebhook}`,
  );
  const ids = rows.map(({ id }) => id);
  return { rows, attempts: await listAttempts(db, tenantId, ids), total: counted[0]!.total };
}

export async function findDelivery(
  db: Db,
  tenantId: string,
  webhookId: string,
  id: string,
): Promise<{ row: DeliveryRow; attempts: AttemptRow[] } | null> {
  const [row] = await selectDeliveries(
    db,
    sql`d.tenant_id = ${tenantId} and d.webhook_id = ${webhookId} and d.id = ${id}`,
  );
  return row ? { row, attempts: await listAttempts(db, tenantId, [id]) } : null;
}

function selectDeliveries(db: Db, conditions: Sql): Promise<DeliveryRow[]> {
  return db.query<DeliveryRow>(sql`
    select ${columns}
      from webhook_deliveries d join events e on e.tenant_id = d.tenant_id and e.id = d.event_id
     where ${conditions}`);
}

function listAttempts(db: Db, tenantId: string, deliveryIds: readonly string[]): Promise<AttemptRow[]> {
  return db.query<AttemptRow>(sql`
    select delivery_id, number, attempted_at, duration_ms, status_code, error_message
      from webhook_attempts where tenant_id = ${tenantId} and delivery_id = any(${deliveryIds}::uuid[])
     order by delivery_id, number`);
}

/** Deliveries that are over and the events nobody waits for. */
export async function deleteOldDeliveries(db: Db): Promise<void> {
  await db.query(sql`
    delete from webhook_deliveries
     where id < first_id_at(now() - make_interval(days => ${KEPT_DAYS})) and next_retry_at is null`);
  await db.query(sql`
    delete from events e
     where e.id < first_id_at(now() - make_interval(days => ${KEPT_DAYS})) and e.fanned_out_at is not null
       and not exists (
         select from webhook_deliveries d where d.tenant_id = e.tenant_id and d.event_id = e.id)`);
}
