import sql from 'sql-template-tag';
import type { Db } from './database.ts';

export interface WebhookRow {
  id: string;
  url: string;
  event_types: string[];
  active: boolean;
  disabled_reason: 'failing' | 'gone' | null;
  created_at: Date;
  updated_at: Date;
  last_delivery_at: Date | null;
  last_status: 'success' | 'failed' | null;
}

const columns = sql`id, url, event_types, active, disabled_reason, created_at, updated_at, last_delivery_at,
  last_status`;

/** Call under the tenant's lock: whether there was room for one more was asked under it. */
export async function insertWebhook(
  db: Db,
  tenantId: string,
  draft: { id: string; url: string; eventTypes: readonly string[]; secretSealed: Buffer },
): Promise<WebhookRow> {
  const rows = await db.query<WebhookRow>(sql`
    insert into webhooks (tenant_id, id, url, event_types, secret_sealed)
    values (${tenantId}, ${draft.id}, ${draft.url}, ${draft.eventTypes}, ${draft.secretSealed})
    returning ${columns}`);
  return rows[0]!;
}

export async function countWebhooks(db: Db, tenantId: string): Promise<number> {
  const rows = await db.query<{ count: number }>(
    sql`select count(*) from webhooks where tenant_id = ${tenantId}`,
  );
  return rows[0]!.count;
}

export async function listWebhooks(db: Db, tenantId: string): Promise<WebhookRow[]> {
  return db.query<WebhookRow>(sql`
    select ${columns} from webhooks where tenant_id = ${tenantId} order by id desc`);
}

export async function findWebhook(db: Db, tenantId: string, id: string): Promise<WebhookRow | null> {
  const rows = await db.query<WebhookRow>(sql`
    select ${columns} from webhooks where tenant_id = ${tenantId} and id = ${id}`);
  return rows[0] ?? null;
}

/** Holds the endpoint against every other change, above all the recording of an attempt. Null when it is gone. */
export async function lockWebhook(
  db: Db,
  tenantId: string,
  id: string,
): Promise<(WebhookRow & { failing_since: Date | null }) | null> {
  const rows = await db.query<WebhookRow & { failing_since: Date | null }>(sql`
    select ${columns}, failing_since from webhooks
     where tenant_id = ${tenantId} and id = ${id} for no key update`);
  return rows[0] ?? null;
}

/** Whoever sets an endpoint active again starts its history of failures anew. Call under its lock. */
export async function updateWebhook(
  db: Db,
  tenantId: string,
  webhook: { id: string; url: string; eventTypes: readonly string[]; active: boolean },
): Promise<WebhookRow> {
  const rows = await db.query<WebhookRow>(sql`
    update webhooks
       set url = ${webhook.url}, event_types = ${webhook.eventTypes}, active = ${webhook.active},
           disabled_reason = case when ${webhook.active} then null else disabled_reason end,
           failing_since = case when ${webhook.active} and not active then null else failing_since end,
           updated_at = now()
     where tenant_id = ${tenantId} and id = ${webhook.id}
    returning ${columns}`);
  return rows[0]!;
}

/** Its deliveries go with it. */
export async function deleteWebhook(db: Db, tenantId: string, id: string): Promise<void> {
  await db.query(sql`delete from webhooks where tenant_id = ${tenantId} and id = ${id}`);
}

/** The secret in force becomes the previous one; one that was previous before ends now. */
export async function rotateWebhookSecret(
  db: Db,
  tenantId: string,
  webhook: { id: string; secretSealed: Buffer; previousValidUntilMs: number },
): Promise<WebhookRow> {
  const rows = await db.query<WebhookRow>(sql`
    update webhooks
       set previous_secret_sealed = secret_sealed,
           previous_secret_valid_until = ${new Date(webhook.previousValidUntilMs)},
           secret_sealed = ${webhook.secretSealed}, updated_at = now()
     where tenant_id = ${tenantId} and id = ${webhook.id}
    returning ${columns}`);
  return rows[0]!;
}

export async function listSubscriptions(
  db: Db,
  tenantId: string,
): Promise<Array<{ id: string; event_types: string[] }>> {
  return db.query(sql`
    select id, event_types from webhooks where tenant_id = ${tenantId} and active order by id`);
}

/** Call under the endpoint's lock. */
export async function recordWebhookHealth(
  db: Db,
  tenantId: string,
  health: {
    id: string;
    lastDeliveryAtMs: number;
    lastStatus: 'success' | 'failed';
    failingSince: Date | null;
  },
): Promise<void> {
  await db.query(sql`
    update webhooks
       set last_delivery_at = ${new Date(health.lastDeliveryAtMs)}, last_status = ${health.lastStatus},
           failing_since = ${health.failingSince}
     where tenant_id = ${tenantId} and id = ${health.id}`);
}

/** Call under the endpoint's lock. */
export async function disableWebhook(
  db: Db,
  tenantId: string,
  id: string,
  reason: 'failing' | 'gone',
): Promise<void> {
  await db.query(sql`
    update webhooks set active = false, disabled_reason = ${reason}, updated_at = now()
     where tenant_id = ${tenantId} and id = ${id}`);
}
