import { alertMail } from '../domain/alert-mail.ts';
import { alertMessage } from '../domain/alert-messages.ts';
import { attemptDelayMs, subscribes } from '../domain/webhooks.ts';
import type { Db } from '../store/database.ts';
import { countAlertEventsInHourBefore, type EventRow, takeEventForDelivery } from '../store/events.ts';
import { addJob, addSealedJob } from '../store/jobs.ts';
import { findTenant, type TenantRow } from '../store/tenants.ts';
import { insertDelivery } from '../store/webhook-deliveries.ts';
import { listSubscriptions } from '../store/webhooks.ts';
import type { JobParts, Task } from './task.ts';

/** More than anyone reads; the rest of such an hour is in the dashboard, and goes to webhooks all the same. */
const MAX_MESSAGES_PER_HOUR = 60;
const MAX_MAIL_ATTEMPTS = 20;
const MAX_CHAT_ATTEMPTS = 10;
/** An alert that is older than this is history, not news. */
const MAIL_HOLDS_MS = 3 * 24 * 60 * 60 * 1000;
/** A chat tool that hangs takes at most so many of the node's jobs. */
const CHAT_QUEUES = 3;

/** Takes an event to its receivers: queues everything in one transaction, and once however often it runs. */
export function deliverEvent(parts: JobParts, wakeSender: () => void): Task {
  return async (payload) => {
    const { tenant_id: tenantId, event_id: eventId } = payload as { tenant_id: string; event_id: string };
    await parts.database.asTenant(tenantId, async (db) => {
      const event = await takeEventForDelivery(db, tenantId, eventId);
      if (!event) return;
      const tenant = await findTenant(db, tenantId);
      if (tenant.status !== 'active') return;
      for (const { id: webhookId, event_types: types } of await listSubscriptions(db, tenantId)) {
        if (!subscribes(types, event.type)) continue;
        const delayMs = attemptDelayMs(parts.webhookRetryDelaysSeconds, 0, Math.random()) ?? 0;
        const nextRetryAt = new Date(parts.nowMs() + delayMs);
        await insertDelivery(db, tenantId, { webhookId, eventId, nextRetryAt });
      }
      await queueMessages(db, parts, tenant, event);
    });
    wakeSender();
  };
}

async function queueMessages(db: Db, parts: JobParts, tenant: TenantRow, event: EventRow): Promise<void> {
  const { tenant_id: tenantId } = tenant;
  const before = await countAlertEventsInHourBefore(db, tenantId, event);
  if (before >= MAX_MESSAGES_PER_HOUR) return;
  const message = alertMessage({ ...event, createdAtMs: event.created_at.getTime() }, parts.dashboardUrl);
  const isLast = before === MAX_MESSAGES_PER_HOUR - 1;
  const note = isLast
    ? 'There are very many alerts. Those of the next hour are in the dashboard and not mailed.'
    : null;
  const mail = alertMail(tenant.email, { ...message, note });
  const job = { mail, holdsUntilMs: parts.nowMs() + MAIL_HOLDS_MS };
  await addSealedJob(db, parts.vault, 'send_mail', job, { maxAttempts: MAX_MAIL_ATTEMPTS });
  if (tenant.chat_webhook_sealed !== null) {
    const chat = { tenant_id: tenantId, event_id: event.id };
    const queue = `chat:${Number.parseInt(tenantId.slice(-4), 16) % CHAT_QUEUES}`;
    await addJob(db, 'send_chat', chat, { maxAttempts: MAX_CHAT_ATTEMPTS, queue });
  }
}
