import { randomBytes } from 'node:crypto';
import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import { type Refusal, refuse } from '../../contract/errors.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, type ResponseOf } from '../../contract/operation.ts';
import { MAX_WEBHOOKS, type webhooksOperations } from '../../contract/webhooks.ts';
import {
  makeWebhookSecret,
  ROTATION_OVERLAP_MS,
  WEBHOOK_SECRET_BYTES,
  webhookSecretPurpose,
} from '../domain/webhooks.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import { insertTestEvent } from '../store/events.ts';
import { findDataKey, lockTenant } from '../store/tenants.ts';
import * as deliveries from '../store/webhook-deliveries.ts';
import * as store from '../store/webhooks.ts';
import type { Handler, Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof webhooksOperations;
type Webhook = ResponseOf<Operations['getWebhook']>;
type Delivery = ResponseOf<Operations['listWebhookDeliveries']>['data'][number];

export function webhooksApi(parts: ApiParts): Handlers<Operations> {
  return {
    listWebhooks: async ({ caller: { tenantId } }) => {
      const rows = await parts.database.asTenant(tenantId, (db) => store.listWebhooks(db, tenantId));
      return { webhooks: rows.map(show), total: rows.length };
    },
    createWebhook: createWebhook(parts),
    getWebhook: async ({ caller: { tenantId }, params }) => {
      const webhook = await findByParam(parts, tenantId, params.id);
      return webhook ? show(webhook) : refuse('not_found');
    },
    updateWebhook: updateWebhook(parts),
    deleteWebhook: ({ caller, params, ip }) =>
      parts.database.asTenant(caller.tenantId, async (db) => {
        const webhook = await lockByParam(db, caller.tenantId, params.id);
        if (!webhook) return refuse('not_found');
        await store.deleteWebhook(db, caller.tenantId, webhook.id);
        await recordWebhookAudit(db, { caller, ip }, 'webhook.deleted', webhook);
        return undefined;
      }),
    listWebhookDeliveries: listWebhookDeliveries(parts),
    testWebhook: testWebhook(parts),
    replayWebhookDelivery: replayWebhookDelivery(parts),
    rotateWebhookSecret: rotateWebhookSecret(parts),
  };
}

function createWebhook(parts: ApiParts): Handler<Operations['createWebhook']> {
  return async ({ body, caller, ip }) => {
    const refused = refuseUrl(parts, body.url);
    if (refused) return refused;
    return parts.database.asTenant(caller.tenantId, async (db) => {
      // One creation at a time, or several side by side would each find room for one more.
      await lockTenant(db, caller.tenantId);
      if ((await store.countWebhooks(db, caller.tenantId)) >= MAX_WEBHOOKS) return refuse('max_webhooks');
      const id = uuidv7();
      const { secret, secretSealed } = await makeSecret(parts, db, caller.tenantId, id);
      const webhook = await store.insertWebhook(db, caller.tenantId, {
        id,
        url: body.url,
        eventTypes: [...new Set(body.event_types)],
        secretSealed,
      });
      await recordWebhookAudit(db, { caller, ip }, 'webhook.created', webhook);
      return { ...show(webhook), secret };
    });
  };
}

function updateWebhook(parts: ApiParts): Handler<Operations['updateWebhook']> {
  return async ({ body, caller, params, ip }) => {
    const refused = body.url === undefined ? null : refuseUrl(parts, body.url);
    return parts.database.asTenant(caller.tenantId, async (db) => {
      const webhook = await lockByParam(db, caller.tenantId, params.id);
      if (!webhook) return refuse('not_found');
      if (refused) return refused;
      const updated = await store.updateWebhook(db, caller.tenantId, {
        id: webhook.id,
        url: body.url ?? webhook.url,
        eventTypes: body.event_types ? [...new Set(body.event_types)] : webhook.event_types,
        active: body.active ?? webhook.active,
      });
      if (!updated.active) {
        const reason = 'The endpoint was set inactive.';
        await deliveries.giveUpDeliveries(db, caller.tenantId, webhook.id, reason);
      }
      await recordWebhookAudit(db, { caller, ip }, 'webhook.updated', updated);
      return show(updated);
    });
  };
}

function rotateWebhookSecret(parts: ApiParts): Handler<Operations['rotateWebhookSecret']> {
  return ({ caller, params, ip }) =>
    parts.database.asTenant(caller.tenantId, async (db) => {
      const webhook = await lockByParam(db, caller.tenantId, params.id);
      if (!webhook) return refuse('not_found');
      const { secret, secretSealed } = await makeSecret(parts, db, caller.tenantId, webhook.id);
      const previousValidUntilMs = parts.nowMs() + ROTATION_OVERLAP_MS;
      const rotated = await store.rotateWebhookSecret(db, caller.tenantId, {
        id: webhook.id,
        secretSealed,
        previousValidUntilMs,
      });
      await recordWebhookAudit(db, { caller, ip }, 'webhook.secret_rotated', rotated);
      const previous_secret_valid_until = new Date(previousValidUntilMs).toISOString();
      return { ...show(rotated), secret, previous_secret_valid_until };
    });
}

function listWebhookDeliveries(parts: ApiParts): Handler<Operations['listWebhookDeliveries']> {
  return async ({ query, caller: { tenantId }, params }) => {
    const webhook = await findByParam(parts, tenantId, params.id);
    if (!webhook) return refuse('not_found');
    const limit = Math.min(query.limit ?? DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT);
    const offset = query.offset ?? 0;
    const { rows, attempts, total } = await parts.database.asTenant(tenantId, (db) =>
      deliveries.listDeliveries(db, tenantId, webhook.id, { limit, offset }),
    );
    const data = rows.map((row) =>
      showDelivery(
        row,
        attempts.filter(({ delivery_id }) => delivery_id === row.id),
      ),
    );
    return { data, total, limit, offset };
  };
}

function testWebhook(parts: ApiParts): Handler<Operations['testWebhook']> {
  return async ({ caller, params, ip }) => {
    const { tenantId } = caller;
    const webhook = await findByParam(parts, tenantId, params.id);
    if (!webhook) return refuse('not_found');
    const deliveryId = await parts.database.asTenant(tenantId, async (db) => {
      const data = { webhook_id: webhook.id, message: 'A test delivery: nothing happened.' };
      const eventId = await insertTestEvent(db, tenantId, data);
      await recordWebhookAudit(db, { caller, ip }, 'webhook.tested', webhook);
      return deliveries.insertDelivery(db, tenantId, { webhookId: webhook.id, eventId, nextRetryAt: null });
    });
    return sendNow(parts, tenantId, webhook.id, deliveryId);
  };
}

function replayWebhookDelivery(parts: ApiParts): Handler<Operations['replayWebhookDelivery']> {
  return async ({ caller, params, ip }) => {
    const { tenantId } = caller;
    const { delivery_id: deliveryId } = params;
    const webhook = await findByParam(parts, tenantId, params.id);
    if (!webhook || deliveryId === undefined || !isUuid(deliveryId)) return refuse('not_found');
    const found = await parts.database.asTenant(tenantId, async (db) => {
      const delivery = await deliveries.findDelivery(db, tenantId, webhook.id, deliveryId);
      if (delivery)
        await recordWebhookAudit(db, { caller, ip }, 'webhook.replayed', webhook, {
          delivery_id: deliveryId,
        });
      return delivery;
    });
    return found ? sendNow(parts, tenantId, webhook.id, deliveryId) : refuse('not_found');
  };
}

/** Answers with what came of it; what the receiver said is news, not a refusal. */
async function sendNow(parts: ApiParts, tenantId: string, webhookId: string, deliveryId: string) {
  const made = await parts.attemptDelivery(tenantId, deliveryId);
  const found =
    made &&
    (await parts.database.asTenant(tenantId, (db) =>
      deliveries.findDelivery(db, tenantId, webhookId, deliveryId),
    ));
  // Deleted meanwhile.
  if (!found) return refuse('not_found');
  const { id, created_at: _, attempts: __, ...outcome } = showDelivery(found.row, found.attempts);
  return { delivery_id: id, ...outcome, duration_ms: made.durationMs };
}

function refuseUrl(parts: ApiParts, url: string): Refusal | null {
  const problem = parts.outbound.problemWith(url);
  return problem === null ? null : refuse('invalid_url', problem);
}

async function makeSecret(parts: ApiParts, db: Db, tenantId: string, webhookId: string) {
  const secret = makeWebhookSecret(randomBytes(WEBHOOK_SECRET_BYTES));
  const dataKey = await findDataKey(db, tenantId);
  const secretSealed = parts.vault.seal(tenantId, dataKey, webhookSecretPurpose(webhookId), secret);
  return { secret, secretSealed };
}

async function findByParam(parts: ApiParts, tenantId: string, id: string | undefined) {
  if (id === undefined || !isUuid(id)) return null;
  return parts.database.asTenant(tenantId, (db) => store.findWebhook(db, tenantId, id));
}

async function lockByParam(db: Db, tenantId: string, id: string | undefined) {
  return id !== undefined && isUuid(id) ? store.lockWebhook(db, tenantId, id) : null;
}

/** The path and query of an address may be a receiver's secret; its origin names it well enough. */
function recordWebhookAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  webhook: store.WebhookRow,
  more: Record<string, unknown> = {},
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'webhook',
    resourceId: webhook.id,
    ip,
    details: {
      origin: new URL(webhook.url).origin,
      event_types: webhook.event_types,
      active: webhook.active,
      ...more,
    },
  });
}

function show(webhook: store.WebhookRow): Webhook {
  return {
    id: webhook.id,
    url: webhook.url,
    event_types: webhook.event_types as Webhook['event_types'],
    active: webhook.active,
    disabled_reason: webhook.disabled_reason,
    created_at: webhook.created_at.toISOString(),
    updated_at: webhook.updated_at.toISOString(),
    last_delivery_at: webhook.last_delivery_at?.toISOString() ?? null,
    last_status: webhook.last_status,
  };
}

function showDelivery(row: deliveries.DeliveryRow, attempts: readonly deliveries.AttemptRow[]): Delivery {
  const last = attempts.at(-1);
  return {
    id: row.id,
    event_id: row.event_id,
    event_type: row.event_type,
    status: row.status,
    status_code: last?.status_code ?? null,
    attempt_count: attempts.length,
    next_retry_at: row.next_retry_at?.toISOString() ?? null,
    delivered_at: row.delivered_at?.toISOString() ?? null,
    error_message: row.given_up_reason ?? last?.error_message ?? null,
    created_at: row.created_at.toISOString(),
    attempts: attempts.map(({ delivery_id: _, attempted_at, ...attempt }) => ({
      ...attempt,
      attempted_at: attempted_at.toISOString(),
    })),
  };
}
