import { validate as isUuid } from 'uuid';
import type { ALERT_DESTINATIONS, alertsOperations } from '../../contract/alerts.ts';
import { refuse } from '../../contract/errors.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, type ResponseOf } from '../../contract/operation.ts';
import { dashboardUrl } from '../config.ts';
import { alertMail } from '../domain/alert-mail.ts';
import { chatMessage, testMessage } from '../domain/alert-messages.ts';
import { CHAT_WEBHOOK_PURPOSE } from '../domain/chat-hooks.ts';
import { describeFailure } from '../domain/webhooks.ts';
import * as store from '../store/alerts.ts';
import { recordAudit } from '../store/audit.ts';
import { findTenant, type TenantRow } from '../store/tenants.ts';
import type { Handler, Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof alertsOperations;
type Alert = ResponseOf<Operations['acknowledgeAlert']>;
type Destination = (typeof ALERT_DESTINATIONS)[number];

export function alertsApi(parts: ApiParts): Handlers<Operations> {
  return {
    listAlerts: async ({ query, caller: { tenantId } }) => {
      const limit = Math.min(query.limit ?? DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT);
      const offset = query.offset ?? 0;
      const filter: store.AlertFilter = {
        ...(query.acknowledged !== undefined && { acknowledged: query.acknowledged }),
        ...(query.severity !== undefined && { severity: query.severity }),
        ...(query.alert_type !== undefined && { alertType: query.alert_type }),
      };
      const { rows, total } = await parts.database.asTenant(tenantId, (db) =>
        store.listAlerts(db, tenantId, filter, { limit, offset }),
      );
      return { data: rows.map(show), total, limit, offset };
    },
    acknowledgeAlert: async ({ caller, params, ip }) => {
      const { id } = params;
      if (id === undefined || !isUuid(id)) return refuse('not_found');
      return parts.database.asTenant(caller.tenantId, async (db) => {
        const outcome = await store.acknowledgeAlert(db, caller.tenantId, id);
        if (!outcome) return refuse('not_found');
        if (outcome.changed) {
          await recordAudit(db, {
            tenantId: caller.tenantId,
            actorType: 'user',
            actorId: caller.email,
            action: 'alert.acknowledged',
            resourceType: 'alert',
            resourceId: id,
            ip,
            details: { alert_type: outcome.alert.alert_type, title: outcome.alert.title },
          });
        }
        return show(outcome.alert);
      });
    },
    testAlerts: testAlerts(parts),
  };
}

/** Sends, instead of queueing: whoever tests wants to know whether it arrives. */
function testAlerts(parts: ApiParts): Handler<Operations['testAlerts']> {
  return async ({ caller: { tenantId } }) => {
    const tenant = await parts.database.asTenant(tenantId, (db) => findTenant(db, tenantId));
    const outcomes: Array<{ destination: Destination; reason: string | null }> = await Promise.all([
      ...(tenant.chat_webhook_sealed === null
        ? []
        : [sendTestChat(parts, tenant, tenant.chat_webhook_sealed)]),
      sendTestMail(parts, tenant),
    ]);
    return {
      sent_to: outcomes.filter(({ reason }) => reason === null).map(({ destination }) => destination),
      failed: outcomes.flatMap(({ destination, reason }) =>
        reason === null ? [] : [{ destination, reason }],
      ),
    };
  };
}

async function sendTestChat(parts: ApiParts, tenant: TenantRow, sealed: Buffer) {
  const destination = 'chat' as const;
  let url: string;
  try {
    url = parts.vault.open(tenant.tenant_id, tenant.data_key_wrapped, CHAT_WEBHOOK_PURPOSE, sealed);
  } catch {
    return { destination, reason: 'The address of the chat hook cannot be opened. Set it again.' };
  }
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify(chatMessage(messageFor(parts)));
  const outcome = await parts.outbound.post({ url, headers, body });
  return { destination, reason: describeFailure(outcome) };
}

async function sendTestMail(parts: ApiParts, tenant: TenantRow) {
  const destination = 'email' as const;
  try {
    await parts.mailer.send(alertMail(tenant.email, messageFor(parts)));
    return { destination, reason: null };
  } catch {
    // The mail server's own words are for the operator, who finds them in the log of the mails that matter.
    return { destination, reason: 'The mail server did not take the message.' };
  }
}

function messageFor(parts: ApiParts) {
  return testMessage(dashboardUrl(parts.config, parts.config.port), parts.nowMs());
}

function show(alert: store.AlertRow): Alert {
  return {
    ...alert,
    acknowledged_at: alert.acknowledged_at?.toISOString() ?? null,
    created_at: alert.created_at.toISOString(),
  };
}
