import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  claimDueDeliveries,
  type DeliveryToSend,
  giveUpDeliveries,
  releaseClaim,
  renewClaims,
} from '../store/webhook-deliveries.ts';
import { lockWebhook } from '../store/webhooks.ts';
import type { JobParts } from './task.ts';
import { makeAttempt } from './webhook-attempt.ts';

/**
 * Attempts wait for strangers, so many run at once; endpoints that fail have slots of their own, and however
 * many they are, they take none of the others'.
 */
const HEALTHY_AT_ONCE = 256;
const FAILING_AT_ONCE = 64;
const PER_ENDPOINT_AT_ONCE = 2;
/** A node that does not renew its claims for so long is taken for dead. */
const CLAIM_SECONDS = 6;
const RENEW_MS = 2_000;
const POLL_MS = 1_000;
/** Slots that come free one by one are filled together. */
const GATHER_MS = 10;
const STOP_PATIENCE_MS = 3_000;

export interface WebhookSender {
  /** Something may be due now. */
  wake(): void;
  stop(): Promise<void>;
}

/**
 * Makes the attempts that are due, until stopped. Deliveries themselves are the queue (see the store): a node
 * that dies leaves claims that run out, and another node sends what it held.
 */
export function startWebhookSender(parts: JobParts): WebhookSender {
  const slots = {
    healthy: { failing: false, limit: HEALTHY_AT_ONCE, running: new Map<DeliveryToSend, Promise<void>>() },
    failing: { failing: true, limit: FAILING_AT_ONCE, running: new Map<DeliveryToSend, Promise<void>>() },
  };
  const stopping = new AbortController();
  const cutting = new AbortController();
  // Every attempt listens; as many as there are slots is no leak.
  setMaxListeners(HEALTHY_AT_ONCE + FAILING_AT_ONCE, cutting.signal);
  const { wake, untilWoken } = makeAlarm();

  async function fill(slot: (typeof slots)['healthy']): Promise<void> {
    const limit = slot.limit - slot.running.size;
    if (limit === 0) return;
    const claimed = await parts.database.asSystem((db) =>
      claimDueDeliveries(db, {
        nowMs: parts.nowMs(),
        claimSeconds: CLAIM_SECONDS,
        failing: slot.failing,
        limit,
        perEndpoint: PER_ENDPOINT_AT_ONCE,
      }),
    );
    for (const delivery of claimed) {
      const attempt = attend(parts, delivery, cutting.signal).finally(() => {
        slot.running.delete(delivery);
        wake();
      });
      slot.running.set(delivery, attempt);
    }
  }

  let renewedAtMs = 0;
  async function renew(): Promise<void> {
    const claims = [...slots.healthy.running.keys(), ...slots.failing.running.keys()];
    if (claims.length === 0 || performance.now() - renewedAtMs < RENEW_MS) return;
    renewedAtMs = performance.now();
    await parts.database.asSystem((db) => renewClaims(db, claims, CLAIM_SECONDS));
  }

  async function keepSending(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await renew();
        await fill(slots.healthy);
        await fill(slots.failing);
      } catch (error) {
        parts.log.debug({ fault: (error as Error).message }, 'could not look for webhook deliveries');
      }
      await untilWoken();
      await sleep(GATHER_MS);
    }
  }

  const ended = keepSending();
  return {
    wake,
    async stop() {
      stopping.abort();
      wake();
      await ended;
      const cut = setTimeout(() => cutting.abort(), STOP_PATIENCE_MS);
      await Promise.all([...slots.healthy.running.values(), ...slots.failing.running.values()]);
      clearTimeout(cut);
    },
  };
}

/** A wake that comes while nobody waits is not lost: the next wait ends at once. */
function makeAlarm(): { wake(): void; untilWoken(): Promise<void> } {
  let ring = () => {};
  let isWoken = false;
  return {
    wake() {
      isWoken = true;
      ring();
    },
    async untilWoken() {
      if (!isWoken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, POLL_MS);
          ring = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      isWoken = false;
    },
  };
}

/** Never throws: what could not be written down is sent again when the claim has run out. */
async function attend(parts: JobParts, delivery: DeliveryToSend, cut: AbortSignal): Promise<void> {
  const { tenant_id: tenantId, webhook_id: webhookId, id } = delivery;
  try {
    if (delivery.tenant_status !== 'active') {
      await parts.database.asTenant(tenantId, async (db) => {
        await lockWebhook(db, tenantId, webhookId);
        await giveUpDeliveries(db, tenantId, webhookId, 'The account is not active.');
      });
      return;
    }
    const made = await makeAttempt(parts, delivery, 'schedule', cut);
    if (made === null) await parts.database.asTenant(tenantId, (db) => releaseClaim(db, tenantId, id));
  } catch (error) {
    parts.log.warn({ fault: (error as Error).message, delivery: id }, 'a webhook attempt broke');
  }
}
