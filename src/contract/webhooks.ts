import { Type } from 'typebox';
import { ALERT_TYPES } from './alerts.ts';
import { nullable, oneOf, operation, PageQuery, page, Timestamp, Uuid } from './operation.ts';

export const MAX_WEBHOOKS = 10;
const MAX_URL_CHARACTERS = 2048;

/** What happens and is told. Subscribers of `alert.all` hear every one of them. */
export const ALERT_EVENT_TYPES = [
  ...ALERT_TYPES.map((type) => `alert.${type}` as const),
  'alert.kill_switch',
] as const;

/** The registry. `webhook.test` changes nothing: it goes to the endpoint that is tested, subscribed or not. */
export const SUBSCRIBABLE_EVENT_TYPES = ['alert.all', ...ALERT_EVENT_TYPES, 'webhook.test'] as const;

const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed'] as const;
export const DISABLED_REASONS = ['failing', 'gone'] as const;

export const Webhook = Type.Object({
  id: Uuid,
  url: Type.String(),
  event_types: Type.Array(oneOf(SUBSCRIBABLE_EVENT_TYPES)),
  active: Type.Boolean(),
  disabled_reason: nullable(
    oneOf(DISABLED_REASONS, {
      description:
        'why the service set it inactive: five days of nothing but failures, or an answer 410 Gone; null when it did not',
    }),
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
  last_delivery_at: nullable(Timestamp),
  last_status: nullable(oneOf(['success', 'failed'])),
});

const Secret = Type.String({
  description: 'wh_ followed by the base64 of the 32-byte key; shown this once, never again',
});

export const WebhookAttempt = Type.Object({
  number: Type.Integer({ description: 'from 1' }),
  attempted_at: Timestamp,
  duration_ms: Type.Integer(),
  status_code: nullable(Type.Integer({ description: 'null when no answer came' })),
  error_message: nullable(Type.String()),
});

const deliveryFields = {
  event_id: Type.String({ format: 'uuid', description: 'the webhook-id header: the same over all attempts' }),
  event_type: Type.String(),
  status: oneOf(DELIVERY_STATUSES),
  status_code: nullable(Type.Integer({ description: 'of the last attempt; null when no answer came' })),
  attempt_count: Type.Integer(),
  next_retry_at: nullable(Timestamp),
  delivered_at: nullable(Timestamp),
  error_message: nullable(Type.String({ description: 'of the last attempt' })),
};

export const WebhookDelivery = Type.Object({
  id: Uuid,
  ...deliveryFields,
  created_at: Timestamp,
  attempts: Type.Array(WebhookAttempt, { description: 'oldest first' }),
});

/** What came of one attempt that was asked for. */
const DeliveryOutcome = Type.Object({
  delivery_id: Uuid,
  ...deliveryFields,
  duration_ms: Type.Integer({ description: 'of this attempt' }),
});

const url = { maxLength: MAX_URL_CHARACTERS, description: 'an https:// address on the public internet' };
const EventTypes = Type.Array(oneOf(SUBSCRIBABLE_EVENT_TYPES), {
  minItems: 1,
  maxItems: 64,
  'x-missing': 'invalid_event_type',
  'x-invalid': 'invalid_event_type',
});

export const webhooksOperations = {
  listWebhooks: operation({
    method: 'GET',
    path: '/v1/webhooks',
    auth: 'tenant',
    tag: 'Webhooks',
    summary: 'All webhook endpoints, newest first',
    success: 200,
    response: Type.Object({ webhooks: Type.Array(Webhook), total: Type.Integer() }),
  }),
  createWebhook: operation({
    method: 'POST',
    path: '/v1/webhooks',
    auth: 'tenant',
    tag: 'Webhooks',
    summary: `Create a webhook endpoint, at most ${MAX_WEBHOOKS}; the answer shows its secret, once`,
    body: Type.Object({
      url: Type.String({ ...url, 'x-missing': 'invalid_url', 'x-invalid': 'invalid_url' }),
      event_types: EventTypes,
    }),
    success: 201,
    response: Type.Object({ ...Webhook.properties, secret: Secret }),
    refusals: ['invalid_url', 'invalid_event_type', 'max_webhooks'],
  }),
  getWebhook: operation({
    method: 'GET',
    path: '/v1/webhooks/{id}',
    auth: 'tenant',
    tag: 'Webhooks',
    summary: 'One webhook endpoint',
    success: 200,
    response: Webhook,
  }),
  updateWebhook: operation({
    method: 'PUT',
    path: '/v1/webhooks/{id}',
    auth: 'tenant',
    tag: 'Webhooks',
    summary: 'Change address, event types or activity; setting it inactive gives up its pending retries',
    body: Type.Object({
      url: Type.Optional(Type.String({ ...url, 'x-invalid': 'invalid_url' })),
      event_types: Type.Optional(EventTypes),
      active: Type.Optional(Type.Boolean()),
    }),
    success: 200,
    response: Webhook,
    refusals: ['invalid_url', 'invalid_event_type'],
  }),
  deleteWebhook: operation({
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    auth: 'tenant',
    tag: 'Webhooks',
    summary: 'Delete an endpoint with its delivery history; pending retries are given up',
    success: 204,
    response: null,
  }),
  listWebhookDeliveries: operation({
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    auth: 'tenant',
    tag: 'Webhooks',
    summary: 'Deliveries of an endpoint with every attempt, newest first',
    query: Type.Object(PageQuery),
    success: 200,
    response: page(WebhookDelivery),
  }),
  testWebhook: operation({
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    auth: 'tenant',
    tag: 'Webhooks',
    summary: 'Send a synthetic webhook.test delivery now, once, and answer with what came of it',
    success: 200,
    response: DeliveryOutcome,
    refusals: ['too_many_sendings'],
  }),
  replayWebhookDelivery: operation({
    method: 'POST',
    path: '/v1/webhooks/{id}/deliveries/{delivery_id}/replay',
    auth: 'tenant',
    tag: 'Webhooks',
    summary: 'Send a delivery again now, with the same webhook-id, and answer with what came of it',
    success: 200,
    response: DeliveryOutcome,
    refusals: ['too_many_sendings'],
  }),
  rotateWebhookSecret: operation({
    method: 'POST',
    path: '/v1/webhooks/{id}/rotate-secret',
    auth: 'tenant',
    tag: 'Webhooks',
    summary:
      'Make a new secret; for 24 hours webhook-signature carries signatures of both the new and the old one',
    success: 200,
    response: Type.Object({
      ...Webhook.properties,
      secret: Secret,
      previous_secret_valid_until: Timestamp,
    }),
  }),
};
