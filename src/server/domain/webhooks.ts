import { createHmac } from 'node:crypto';
import type { DISABLED_REASONS } from '../../contract/webhooks.ts';

export const WEBHOOK_SECRET_BYTES = 32;
/** How long a rotated secret signs beside its successor. */
export const ROTATION_OVERLAP_MS = 24 * 60 * 60 * 1000;

const SECRET_PREFIX = 'wh_';
/** Each delay is stretched or shortened by up to this share, so that receivers do not get everything at once. */
const JITTER = 0.1;
const DISABLE_AFTER_FAILING_MS = 5 * 24 * 60 * 60 * 1000;
const GONE = 410;
const MAX_EXCERPT_CHARACTERS = 200;

// ── Subscriptions ──────────────────────────────────────────────────────────────────────────────────────

export function subscribes(eventTypes: readonly string[], type: string): boolean {
  return eventTypes.includes(type) || (eventTypes.includes('alert.all') && type.startsWith('alert.'));
}

// ── What is sent ───────────────────────────────────────────────────────────────────────────────────────

export function makeWebhookSecret(random: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(random).toString('base64');
}

/** What an endpoint's secret is sealed for; it opens for nothing else. */
export function webhookSecretPurpose(webhookId: string): string {
  return `webhook:${webhookId}`;
}

function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  // An empty key would sign what anyone can sign.
  if (key.length !== WEBHOOK_SECRET_BYTES) throw new Error('not a webhook secret');
  return key;
}

export interface WebhookEvent {
  id: string;
  type: string;
  tenantId: string;
  createdAtMs: number;
  data: Record<string, unknown>;
}

/** The same bytes at every attempt. */
export function webhookBody(event: WebhookEvent): string {
  return JSON.stringify({
    id: event.id,
    type: event.type,
    timestamp: new Date(event.createdAtMs).toISOString(),
    tenant_id: event.tenantId,
    data: event.data,
  });
}

/**
 * Newest secret first: X-Gateway-Signature has room for one signature and takes that one; webhook-signature
 * carries one for each.
 */
export function webhookHeaders(sent: {
  event: WebhookEvent;
  deliveryId: string;
  body: string;
  secrets: readonly [string, ...string[]];
  nowMs: number;
}): Record<string, string> {
  const timestamp = String(Math.floor(sent.nowMs / 1000));
  const keys = sent.secrets.map(keyOf);
  const signed = `${sent.event.id}.${timestamp}.${sent.body}`;
  return {
    'content-type': 'application/json',
    'user-agent': 'Gateway-Webhooks/1',
    'webhook-id': sent.event.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => `v1,${hmac(key, signed).toString('base64')}`).join(' '),
    'x-gateway-signature': `sha256=${hmac(keys[0]!, sent.body).toString('hex')}`,
    'x-gateway-event': sent.event.type,
    'x-gateway-delivery': sent.deliveryId,
  };
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

// ── What comes of it ───────────────────────────────────────────────────────────────────────────────────

export type AttemptOutcome =
  | { kind: 'answered'; statusCode: number; bodyStart: string }
  | { kind: 'failed'; reason: string };

export function isDelivered(outcome: AttemptOutcome): boolean {
  return outcome.kind === 'answered' && outcome.statusCode >= 200 && outcome.statusCode <= 299;
}

/** For the people who look after the endpoint; null for a success. */
export function describeFailure(outcome: AttemptOutcome): string | null {
  if (outcome.kind === 'failed') return outcome.reason;
  if (isDelivered(outcome)) return null;
  const excerpt = outcome.bodyStart
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_EXCERPT_CHARACTERS);
  const redirect = outcome.statusCode >= 300 && outcome.statusCode <= 399;
  const status = `HTTP ${outcome.statusCode}${redirect ? ' (redirects are not followed)' : ''}`;
  return excerpt === '' ? status : `${status}: ${excerpt}`;
}

export type DeliveryState =
  /** No next attempt: it was asked for by hand and is being made. */
  | { status: 'pending'; scheduledAttempts: number; nextRetryAtMs: number | null }
  | { status: 'succeeded'; deliveredAtMs: number }
  | { status: 'failed' };

/**
 * Where one more attempt leaves a delivery. What succeeded once stays so. An attempt by hand takes nothing off
 * the schedule: fails it, the schedule goes on as if it had not been.
 */
export function stateAfterAttempt(
  before: DeliveryState,
  attempt: { by: 'schedule' | 'hand'; delivered: boolean; endedAtMs: number },
  schedule: { delaysSeconds: readonly number[]; random: number },
): DeliveryState {
  if (before.status === 'succeeded') return before;
  if (attempt.delivered) return { status: 'succeeded', deliveredAtMs: attempt.endedAtMs };
  if (before.status === 'failed') return before;
  if (attempt.by === 'hand') return before.nextRetryAtMs === null ? { status: 'failed' } : before;
  const scheduledAttempts = before.scheduledAttempts + 1;
  const delayMs = attemptDelayMs(schedule.delaysSeconds, scheduledAttempts, schedule.random);
  if (delayMs === null) return { status: 'failed' };
  return { status: 'pending', scheduledAttempts, nextRetryAtMs: attempt.endedAtMs + delayMs };
}

/** The pause before the next attempt, when so many were made; null when they were all. `random` is in [0, 1). */
export function attemptDelayMs(
  delaysSeconds: readonly number[],
  attemptsMade: number,
  random: number,
): number | null {
  const seconds = delaysSeconds[attemptsMade];
  return seconds === undefined ? null : Math.round(seconds * 1000 * (1 - JITTER + 2 * JITTER * random));
}

export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Whether a failed attempt ends the endpoint, and why. `failingSinceMs` is the first failure since a success. */
export function reasonToDisable(
  outcome: AttemptOutcome,
  failingSinceMs: number,
  nowMs: number,
): DisabledReason | null {
  if (isDelivered(outcome)) return null;
  if (outcome.kind === 'answered' && outcome.statusCode === GONE) return 'gone';
  return nowMs - failingSinceMs >= DISABLE_AFTER_FAILING_MS ? 'failing' : null;
}
