import { alertMessage, chatMessage } from '../domain/alert-messages.ts';
import { CHAT_WEBHOOK_PURPOSE } from '../domain/chat-hooks.ts';
import { isDelivered } from '../domain/webhooks.ts';
import { findEvent } from '../store/events.ts';
import { findTenant } from '../store/tenants.ts';
import type { JobParts, Task } from './task.ts';

/** Answers after which the same message would only be refused again: the hook or its channel is gone. */
const FINAL_REFUSALS = [400, 401, 403, 404, 405, 410];

/** Tells an alert in the tenant's chat. The hook is read now: one that was removed meanwhile gets nothing. */
export function sendChat(parts: JobParts): Task {
  return async (payload) => {
    const { tenant_id: tenantId, event_id: eventId } = payload as { tenant_id: string; event_id: string };
    const { event, tenant } = await parts.database.asTenant(tenantId, async (db) => ({
      event: await findEvent(db, tenantId, eventId),
      tenant: await findTenant(db, tenantId),
    }));
    if (!event || tenant.status !== 'active' || tenant.chat_webhook_sealed === null) return;
    const message = alertMessage({ ...event, createdAtMs: event.created_at.getTime() }, parts.dashboardUrl);
    const outcome = await parts.outbound.post({
      url: parts.vault.open(
        tenantId,
        tenant.data_key_wrapped,
        CHAT_WEBHOOK_PURPOSE,
        tenant.chat_webhook_sealed,
      ),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chatMessage(message)),
    });
    if (isDelivered(outcome)) return;
    if (outcome.kind === 'answered' && FINAL_REFUSALS.includes(outcome.statusCode)) {
      parts.log.warn({ tenantId, statusCode: outcome.statusCode }, 'a chat hook refuses its messages');
      return;
    }
    throw new Error(outcome.kind === 'answered' ? `the chat answered ${outcome.statusCode}` : outcome.reason);
  };
}
