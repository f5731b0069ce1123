import {
  type AttemptOutcome,
  type DeliveryState,
  describeFailure,
  isDelivered,
  reasonToDisable,
  stateAfterAttempt,
  type WebhookEvent,
  webhookBody,
  webhookHeaders,
  webhookSecretPurpose,
} from '../domain/webhooks.ts';
import { raiseAlert } from '../store/alerts.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import * as deliveries from '../store/webhook-deliveries.ts';
import { disableWebhook, lockWebhook, recordWebhookHealth } from '../store/webhooks.ts';
import type { JobParts } from './task.ts';

export type AttemptParts = Pick<
  JobParts,
  'database' | 'vault' | 'outbound' | 'webhookRetryDelaysSeconds' | 'nowMs'
>;

/** Fails like a receiver that is away: the key may come back, and then what waited is sent. */
const UNSIGNABLE: AttemptOutcome = {
  kind: 'failed',
  reason: 'The secret of this endpoint cannot be opened, so nothing can be signed. Rotate it.',
};

interface Attempt {
  by: 'schedule' | 'hand';
  outcome: AttemptOutcome;
  startedAtMs: number;
  endedAtMs: number;
  durationMs: number;
}

/** One attempt by hand, made and recorded now. Null when the delivery or its endpoint is gone. */
export async function attemptByHand(
  parts: AttemptParts,
  tenantId: string,
  deliveryId: string,
): Promise<{ durationMs: number } | null> {
  const delivery = await parts.database.asTenant(tenantId, (db) =>
    deliveries.findDeliveryToSend(db, tenantId, deliveryId),
  );
  return delivery && makeAttempt(parts, delivery, 'hand');
}

/**
 * Sends, then writes down what came of it. A process that dies in between has sent what nobody knows of, and
 * it is sent again under the same id. Null when nothing was written: told to stop, or the endpoint was deleted.
 */
export async function makeAttempt(
  parts: AttemptParts,
  delivery: deliveries.DeliveryToSend,
  by: 'schedule' | 'hand',
  stop?: AbortSignal,
): Promise<{ durationMs: number } | null> {
  const startedAtMs = parts.nowMs();
  const { durationMs, ...outcome } = await send(parts, delivery, startedAtMs, stop);
  if (stop?.aborted && !isDelivered(outcome)) return null;
  const attempt: Attempt = { by, outcome, startedAtMs, endedAtMs: parts.nowMs(), durationMs };
  const recorded = await parts.database.asTenant(delivery.tenant_id, (db) =>
    recordAttempt(db, parts, delivery, attempt),
  );
  return recorded ? { durationMs } : null;
}

async function send(
  parts: AttemptParts,
  delivery: deliveries.DeliveryToSend,
  nowMs: number,
  stop?: AbortSignal,
): Promise<AttemptOutcome & { durationMs: number }> {
  const secrets = openSecrets(parts, delivery, nowMs);
  if (!secrets) return { ...UNSIGNABLE, durationMs: 0 };
  const event: WebhookEvent = {
    id: delivery.event_id,
    type: delivery.event_type,
    tenantId: delivery.tenant_id,
    createdAtMs: delivery.event_created_at.getTime(),
    data: delivery.event_data,
  };
  const body = webhookBody(event);
  const headers = webhookHeaders({ event, deliveryId: delivery.id, body, secrets, nowMs });
  return parts.outbound.post({ url: delivery.url, headers, body, ...(stop && { signal: stop }) });
}

/** Null when the secret in force cannot be opened. A previous one that cannot be is left out: that is why it was rotated. */
function openSecrets(
  parts: AttemptParts,
  delivery: deliveries.DeliveryToSend,
  nowMs: number,
): [string, ...string[]] | null {
  const open = (sealed: Buffer) => {
    const { tenant_id: tenantId, data_key_wrapped: dataKey, webhook_id: webhookId } = delivery;
    try {
      return parts.vault.open(tenantId, dataKey, webhookSecretPurpose(webhookId), sealed);
    } catch {
      return null;
    }
  };
  const secret = open(delivery.secret_sealed);
  if (secret === null) return null;
  const { previous_secret_sealed: sealed, previous_secret_valid_until: validUntil } = delivery;
  const overlaps = sealed !== null && validUntil !== null && nowMs < validUntil.getTime();
  const previous = overlaps ? open(sealed) : null;
  return previous === null ? [secret] : [secret, previous];
}

/** False when the endpoint was deleted meanwhile. */
async function recordAttempt(
  db: Db,
  parts: AttemptParts,
  delivery: deliveries.DeliveryToSend,
  attempt: Attempt,
): Promise<boolean> {
  const { tenant_id: tenantId, webhook_id: webhookId } = delivery;
  const { outcome, endedAtMs } = attempt;
  const webhook = await lockWebhook(db, tenantId, webhookId);
  const progress = webhook && (await deliveries.findDeliveryProgress(db, tenantId, delivery.id));
  if (!progress) return false;
  await deliveries.insertAttempt(db, tenantId, {
    deliveryId: delivery.id,
    attemptedAtMs: attempt.startedAtMs,
    durationMs: attempt.durationMs,
    statusCode: outcome.kind === 'answered' ? outcome.statusCode : null,
    errorMessage: describeFailure(outcome),
  });
  const delivered = isDelivered(outcome);
  const schedule = { delaysSeconds: parts.webhookRetryDelaysSeconds, random: Math.random() };
  const after = stateAfterAttempt(stateOf(progress), { by: attempt.by, delivered, endedAtMs }, schedule);
  await deliveries.saveDeliveryProgress(db, tenantId, delivery.id, {
    ...columnsOf(after, progress),
    endClaim: attempt.by === 'schedule' || after.status !== 'pending',
  });
  const failingSince = delivered ? null : (webhook.failing_since ?? new Date(endedAtMs));
  await recordWebhookHealth(db, tenantId, {
    id: webhookId,
    lastDeliveryAtMs: endedAtMs,
    lastStatus: delivered ? 'success' : 'failed',
    failingSince,
  });
  const reason = failingSince && reasonToDisable(outcome, failingSince.getTime(), endedAtMs);
  if (reason && webhook.active) await disable(db, { tenantId, webhook, reason, outcome, endedAtMs });
  return true;
}

async function disable(
  db: Db,
  disabling: {
    tenantId: string;
    webhook: { id: string; url: string };
    reason: 'failing' | 'gone';
    outcome: AttemptOutcome;
    endedAtMs: number;
  },
): Promise<void> {
  const { tenantId, webhook, reason } = disabling;
  await disableWebhook(db, tenantId, webhook.id, reason);
  await deliveries.giveUpDeliveries(db, tenantId, webhook.id, 'The endpoint was disabled.');
  // The path may hold a token of the receiver; the origin is enough to know which endpoint it is.
  const { origin } = new URL(webhook.url);
  const because = reason === 'gone' ? 'it answered 410 Gone' : 'nothing but failures for five days';
  await raiseAlert(db, {
    tenantId,
    type: 'webhook_disabled',
    severity: 'warning',
    title: `Webhook endpoint at ${origin} was disabled: ${because}`,
    metadata: { webhook_id: webhook.id, origin, reason, last_error: describeFailure(disabling.outcome) },
    cause: `webhook:${webhook.id}:disabled:${new Date(disabling.endedAtMs).toISOString()}`,
  });
  await recordAudit(db, {
    tenantId,
    actorType: 'system',
    actorId: null,
    action: 'webhook.disabled',
    resourceType: 'webhook',
    resourceId: webhook.id,
    details: { reason },
  });
}

function stateOf(progress: deliveries.DeliveryProgress): DeliveryState {
  switch (progress.status) {
    case 'pending':
      return {
        status: 'pending',
        scheduledAttempts: progress.scheduled_attempts,
        nextRetryAtMs: progress.next_retry_at?.getTime() ?? null,
      };
    case 'succeeded':
      return { status: 'succeeded', deliveredAtMs: progress.delivered_at!.getTime() };
    case 'failed':
      return { status: 'failed' };
  }
}

function columnsOf(state: DeliveryState, before: deliveries.DeliveryProgress): deliveries.DeliveryProgress {
  const pending = state.status === 'pending' ? state : null;
  return {
    status: state.status,
    scheduled_attempts: pending?.scheduledAttempts ?? before.scheduled_attempts,
    next_retry_at: pending?.nextRetryAtMs ? new Date(pending.nextRetryAtMs) : null,
    delivered_at: state.status === 'succeeded' ? new Date(state.deliveredAtMs) : null,
  };
}
