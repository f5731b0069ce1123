import fc from 'fast-check';
import { Webhook as Verifier } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { ALERT_EVENT_TYPES } from '../../contract/webhooks.ts';
import {
  type AttemptOutcome,
  attemptDelayMs,
  type DeliveryState,
  describeFailure,
  isDelivered,
  makeWebhookSecret,
  reasonToDisable,
  stateAfterAttempt,
  subscribes,
  webhookBody,
  webhookHeaders,
} from './webhooks.ts';

const DEFAULT_DELAYS = [0, 5, 300, 1800, 7200, 18000, 36000, 36000];
const DAY_MS = 86_400_000;
const answered = (statusCode: number, bodyStart = ''): AttemptOutcome => ({
  kind: 'answered',
  statusCode,
  bodyStart,
});
const unanswered: AttemptOutcome = { kind: 'failed', reason: 'The connection was refused.' };

describe('a subscription', () => {
  it.each(ALERT_EVENT_TYPES)('to alert.all or to itself hears %s', (type) => {
    expect(subscribes(['alert.all'], type)).toBe(true);
    expect(subscribes([type], type)).toBe(true);
    expect(
      subscribes(
        ALERT_EVENT_TYPES.filter((other) => other !== type),
        type,
      ),
    ).toBe(false);
  });

  it('to everything does not hear tests of other endpoints', () => {
    expect(subscribes(['alert.all', ...ALERT_EVENT_TYPES], 'webhook.test')).toBe(false);
  });
});

describe('a signature', () => {
  const event = {
    id: '018f0000-0000-7000-8000-000000000001',
    type: 'alert.cost_anomaly',
    tenantId: '018f0000-0000-7000-8000-000000000002',
    createdAtMs: Date.UTC(2026, 0, 2),
    data: { title: 'Überraschung 💸', metadata: { cost_microdollars: 42 } },
  };
  const secretOf = (bytes: Uint8Array) => makeWebhookSecret(bytes);
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });

  it('is accepted by the official verifier for any key and data, and not after any byte is flipped', () => {
    fc.assert(
      fc.property(bytes, fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (key, data, position) => {
        const secret = secretOf(key);
        const body = webhookBody({ ...event, data });
        const headers = webhookHeaders({
          event: { ...event, data },
          deliveryId: 'd',
          body,
          secrets: [secret],
          nowMs: Date.now(),
        });
        const verifier = new Verifier(secret.slice('wh_'.length));
        expect(verifier.verify(body, headers)).toEqual(JSON.parse(body));
        const broken = Buffer.from(body);
        broken[position % broken.length]! ^= 1;
        expect(() => verifier.verify(broken, headers)).toThrow();
        const moved = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) };
        expect(() => verifier.verify(body, moved)).toThrow();
      }),
    );
  });

  it('is made with each secret while two are in force', () => {
    const secrets = [secretOf(new Uint8Array(32).fill(1)), secretOf(new Uint8Array(32).fill(2))] as const;
    const body = webhookBody(event);
    const headers = webhookHeaders({
      event,
      deliveryId: 'd',
      body,
      secrets: [...secrets],
      nowMs: Date.now(),
    });
    expect(headers['webhook-signature']!.split(' ')).toHaveLength(2);
    for (const secret of secrets) new Verifier(secret.slice(3)).verify(body, headers);
    const other = secretOf(new Uint8Array(32).fill(3));
    expect(() => new Verifier(other.slice(3)).verify(body, headers)).toThrow();
  });

  it.each(['', 'wh_', 'wh_AAAA', 'whsec_abc'])('is never made with the broken secret "%s"', (secret) => {
    const sent = { event, deliveryId: 'd', body: '{}', nowMs: 0 };
    expect(() => webhookHeaders({ ...sent, secrets: [secret] })).toThrow();
  });

  it('stands beside the headers that the contract names', () => {
    const body = webhookBody(event);
    const secret = secretOf(new Uint8Array(32).fill(7));
    const headers = webhookHeaders({
      event,
      deliveryId: 'the-delivery',
      body,
      secrets: [secret],
      nowMs: 1_999,
    });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': event.id,
      'webhook-timestamp': '1',
      'x-gateway-event': 'alert.cost_anomaly',
      'x-gateway-delivery': 'the-delivery',
    });
    expect(headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(headers['x-gateway-signature']).toMatch(/^sha256=[0-9a-f]{64}$/);
    expect(Object.keys(JSON.parse(body))).toEqual(['id', 'type', 'timestamp', 'tenant_id', 'data']);
  });
});

describe('an attempt', () => {
  it.each([
    [answered(200), true, null],
    [answered(204), true, null],
    [answered(299), true, null],
    [answered(199), false, 'HTTP 199'],
    [answered(302), false, 'HTTP 302 (redirects are not followed)'],
    [answered(410), false, 'HTTP 410'],
    [answered(500, 'out\n\u0000of  order'), false, 'HTTP 500: out of order'],
    [answered(500, 'x'.repeat(5000)), false, `HTTP 500: ${'x'.repeat(200)}`],
    [unanswered, false, 'The connection was refused.'],
  ])('that ended with %j is a success: %s', (outcome, delivered, failure) => {
    expect(isDelivered(outcome)).toBe(delivered);
    expect(describeFailure(outcome)).toBe(failure);
  });
});

describe('the schedule', () => {
  it('pauses within ten percent of what it says, and ends after its last attempt', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.nat(DEFAULT_DELAYS.length - 1), random, (made, luck) => {
        const delayMs = attemptDelayMs(DEFAULT_DELAYS, made, luck)!;
        expect(delayMs).toBeGreaterThanOrEqual(Math.floor(DEFAULT_DELAYS[made]! * 900));
        expect(delayMs).toBeLessThanOrEqual(Math.ceil(DEFAULT_DELAYS[made]! * 1100));
      }),
    );
    expect(attemptDelayMs(DEFAULT_DELAYS, DEFAULT_DELAYS.length, 0.5)).toBeNull();
  });

  it('is gone through attempt by attempt and then failed', () => {
    let state: DeliveryState = { status: 'pending', scheduledAttempts: 0, nextRetryAtMs: 0 };
    const attemptedAtMs: number[] = [];
    while (state.status === 'pending') {
      attemptedAtMs.push(state.nextRetryAtMs!);
      const attempt = { by: 'schedule' as const, delivered: false, endedAtMs: state.nextRetryAtMs! };
      state = stateAfterAttempt(state, attempt, { delaysSeconds: DEFAULT_DELAYS, random: 0.5 });
    }
    expect(state).toEqual({ status: 'failed' });
    const pauses = attemptedAtMs.map((at, index) => (at - (attemptedAtMs[index - 1] ?? 0)) / 1000);
    expect(pauses).toEqual(DEFAULT_DELAYS);
  });

  it('is left alone by attempts by hand, which can only make a delivery succeed', () => {
    const schedule = { delaysSeconds: DEFAULT_DELAYS, random: 0.5 };
    const hand = (delivered: boolean) => ({ by: 'hand' as const, delivered, endedAtMs: 9 });
    const pending: DeliveryState = { status: 'pending', scheduledAttempts: 2, nextRetryAtMs: 77 };
    expect(stateAfterAttempt(pending, hand(false), schedule)).toEqual(pending);
    expect(stateAfterAttempt(pending, hand(true), schedule)).toEqual({
      status: 'succeeded',
      deliveredAtMs: 9,
    });
    expect(stateAfterAttempt({ status: 'failed' }, hand(false), schedule)).toEqual({ status: 'failed' });
    expect(stateAfterAttempt({ status: 'failed' }, hand(true), schedule).status).toBe('succeeded');
    const once: DeliveryState = { status: 'pending', scheduledAttempts: 0, nextRetryAtMs: null };
    expect(stateAfterAttempt(once, hand(false), schedule)).toEqual({ status: 'failed' });
  });

  it('never takes a success back', () => {
    const done: DeliveryState = { status: 'succeeded', deliveredAtMs: 5 };
    for (const by of ['schedule', 'hand'] as const) {
      for (const delivered of [true, false]) {
        const schedule = { delaysSeconds: DEFAULT_DELAYS, random: 0 };
        expect(stateAfterAttempt(done, { by, delivered, endedAtMs: 9 }, schedule)).toEqual(done);
      }
    }
  });
});

describe('an endpoint', () => {
  it('is disabled by five days of failures or one 410, and by nothing less', () => {
    expect(reasonToDisable(answered(500), 0, 5 * DAY_MS - 1)).toBeNull();
    expect(reasonToDisable(answered(500), 0, 5 * DAY_MS)).toBe('failing');
    expect(reasonToDisable(unanswered, 0, 5 * DAY_MS)).toBe('failing');
    expect(reasonToDisable(answered(410), 0, 0)).toBe('gone');
    expect(reasonToDisable(answered(200), 0, 9 * DAY_MS)).toBeNull();
  });
});
