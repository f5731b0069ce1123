import { Type } from 'typebox';
import { nullable, oneOf, operation, PageQuery, page, Timestamp, Uuid } from './operation.ts';

/** `webhook_disabled` is ours beyond the four of the service's specification: an endpoint we gave up on. */
export const ALERT_TYPES = [
  'budget_threshold',
  'cost_anomaly',
  'model_change',
  'pricing_change',
  'webhook_disabled',
] as const;
export const SEVERITIES = ['info', 'warning', 'critical'] as const;

/** Where alerts go besides the dashboard and webhook endpoints. */
export const ALERT_DESTINATIONS = ['chat', 'email'] as const;

export const Alert = Type.Object({
  id: Uuid,
  alert_type: oneOf(ALERT_TYPES),
  severity: oneOf(SEVERITIES),
  title: Type.String(),
  acknowledged: Type.Boolean(),
  acknowledged_at: nullable(Timestamp),
  created_at: Timestamp,
  metadata: Type.Record(Type.String(), Type.Unknown(), {
    description: 'what raised it, e.g. budget_id and threshold',
  }),
});

export const alertsOperations = {
  listAlerts: operation({
    method: 'GET',
    path: '/v1/alerts',
    auth: 'tenant',
    tag: 'Alerts',
    summary: 'Alerts, newest first',
    query: Type.Object({
      acknowledged: Type.Optional(Type.Boolean()),
      severity: Type.Optional(oneOf(SEVERITIES)),
      alert_type: Type.Optional(oneOf(ALERT_TYPES)),
      ...PageQuery,
    }),
    success: 200,
    response: page(Alert),
  }),
  acknowledgeAlert: operation({
    method: 'PUT',
    path: '/v1/alerts/{id}/acknowledge',
    aliases: ['/v1/alerts/{id}/ack'],
    auth: 'tenant',
    tag: 'Alerts',
    summary: 'Acknowledge an alert; acknowledging it again changes nothing',
    success: 200,
    response: Alert,
  }),
  testAlerts: operation({
    method: 'POST',
    path: '/v1/alerts/test',
    auth: 'tenant',
    tag: 'Alerts',
    summary: 'Send a test message to the chat webhook, if one is set, and to the account’s e-mail address',
    success: 200,
    response: Type.Object({
      sent_to: Type.Array(oneOf(ALERT_DESTINATIONS), {
        description: 'the destinations that took the message',
      }),
      failed: Type.Array(Type.Object({ destination: oneOf(ALERT_DESTINATIONS), reason: Type.String() }), {
        description: 'the destinations that did not, and why',
      }),
    }),
    refusals: ['too_many_sendings'],
  }),
};
