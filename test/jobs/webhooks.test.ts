import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook as Verifier } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { raiseAlert } from '../../src/server/store/alerts.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { emitEvent } from '../../src/server/store/events.ts';
import { addJob } from '../../src/server/store/jobs.ts';
import { waitForMails } from '../api/outbox.ts';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

const PATIENCE_MS = 120_000;

let gw: Gateway;
let database: Database;
let tenant: SignedUp;
let receiver: Receiver;
const others: Receiver[] = [];
beforeAll(async () => {
  const env = { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1', GATEWAY_WEBHOOK_RETRY_SCHEDULE: '0,0,0' };
  gw = await startGateway({ env });
  database = openDatabase({
    url: gw.databaseUrl,
    name: 'test',
    connections: 4,
    onIdleError: () => undefined,
  });
});
afterAll(async () => {
  await database.close();
  await gw.stop();
});
beforeEach(async () => {
  tenant = await gw.signUp();
  receiver = await startAnother();
});
afterEach(async () => {
  for (const each of others.splice(0)) await each.close();
});

async function startAnother(): Promise<Receiver> {
  const another = await startReceiver();
  others.push(another);
  return another;
}

const call = (method: string, path: string, body?: unknown) =>
  gw.call(method, `/v1/webhooks${path}`, { token: tenant.token, ...(body !== undefined && { body }) });
async function createEndpoint(
  url = receiver.url,
  eventTypes = ['alert.all'],
): Promise<{ id: string; secret: string }> {
  const made = await call('POST', '', { url, event_types: eventTypes });
  expect(made.status).toBe(201);
  return made.json;
}
const raise = (title: string, severity: 'info' | 'critical' = 'info') =>
  database.asTenant(tenant.tenantId, (db) =>
    raiseAlert(db, {
      tenantId: tenant.tenantId,
      type: 'cost_anomaly',
      severity,
      title,
      metadata: { spent_microdollars: 1 },
      cause: title,
    }),
  );
const deliveriesOf = async (id: string) => (await call('GET', `/${id}/deliveries?limit=500`)).json;
/** The deliveries of an endpoint, once so many are over. Two hundred may take long on a busy machine. */
async function settled(id: string, count: number) {
  const endMs = Date.now() + PATIENCE_MS;
  for (;;) {
    const { data } = await deliveriesOf(id);
    const over = data.filter((row: { status: string }) => row.status !== 'pending').length;
    if (over === count) return data;
    if (Date.now() > endMs) throw new Error(`${over} of ${count} deliveries are over`);
    await sleep(50);
  }
}

describe('two hundred alerts', () => {
  it('arrive once each, verified by the official library and by the signature of the body', {
    timeout: 2 * PATIENCE_MS,
  }, async () => {
    const { id, secret } = await createEndpoint();
    for (let number = 0; number < 200; number++) await raise(`alert ${number}`);
    const deliveries = await settled(id, 200);
    expect(receiver.received).toHaveLength(200);
    const key = Buffer.from(secret.slice(3), 'base64');
    const verifier = new Verifier(secret.slice(3));
    for (const { body, headers, json } of receiver.received) {
      verifier.verify(body, headers);
      const hex = createHmac('sha256', key).update(body).digest('hex');
      expect(headers['x-gateway-signature']).toBe(`sha256=${hex}`);
      expect(headers['x-gateway-event']).toBe('alert.cost_anomaly');
      expect(json).toMatchObject({
        id: headers['webhook-id'],
        type: 'alert.cost_anomaly',
        tenant_id: tenant.tenantId,
        data: { alert_type: 'cost_anomaly', severity: 'info', metadata: { spent_microdollars: 1 } },
      });
      expect(() => verifier.verify(`${body.slice(0, -1)} `, headers)).toThrow();
    }
    const titles = new Set(receiver.received.map(({ json }) => json.data.title));
    expect(titles.size).toBe(200);
    const sent = new Set(receiver.received.map(({ headers }) => headers['x-gateway-delivery']));
    expect(new Set(deliveries.map((row: { id: string }) => row.id))).toEqual(sent);
    expect(deliveries.every((row: { attempt_count: number }) => row.attempt_count === 1)).toBe(true);
  });
});

describe('an event', () => {
  it('goes to the endpoints that subscribed to it and are active, and to no other tenant’s', async () => {
    const [kill, inactive] = [await startAnother(), await startAnother()];
    const all = await createEndpoint();
    await createEndpoint(kill.url, ['alert.kill_switch', 'alert.model_change']);
    const paused = await createEndpoint(inactive.url);
    await call('PUT', `/${paused.id}`, { active: false });
    const owner = tenant;
    tenant = await gw.signUp();
    const foreign = await startAnother();
    await createEndpoint(foreign.url);
    tenant = owner;
    await raise('for all');
    await database.asTenant(tenant.tenantId, (db) =>
      emitEvent(db, { tenantId: tenant.tenantId, type: 'alert.kill_switch', data: { scope_type: 'all' } }),
    );
    await settled(all.id, 2);
    await eventually(async () => expect(kill.received).toHaveLength(1));
    expect(kill.received[0]!.json).toMatchObject({ type: 'alert.kill_switch', data: { scope_type: 'all' } });
    expect(inactive.received).toEqual([]);
    expect(foreign.received).toEqual([]);
  });

  it('whose job runs again is delivered once', async () => {
    const { id } = await createEndpoint();
    await raise('once');
    await settled(id, 1);
    const [event] = await gw.sql<{ id: string }>('select id from events where tenant_id = $1', [
      tenant.tenantId,
    ]);
    const again = { tenant_id: tenant.tenantId, event_id: event!.id };
    await database.asSystem((db) => addJob(db, 'deliver_event', again));
    await raise('another');
    await settled(id, 2);
    expect(receiver.received.map(({ json }) => json.data.title).sort()).toEqual(['another', 'once']);
    const queuedOrSent = await waitForMails(gw.dataDir, tenant.email, 2);
    expect(queuedOrSent.filter((mail) => mail.includes('Subject: [Gateway] Info: once'))).toHaveLength(1);
  });

  it('of a transaction that is undone never was', async () => {
    const { id } = await createEndpoint();
    const undone = database.asTenant(tenant.tenantId, async (db) => {
      await emitEvent(db, { tenantId: tenant.tenantId, type: 'alert.kill_switch', data: {} });
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    await raise('real');
    await settled(id, 1);
    expect(receiver.received).toHaveLength(1);
  });
});

describe('a receiver', () => {
  it('that fails and then recovers gets the same id and body again, and every attempt is on record', async () => {
    let failures = 2;
    receiver.respond = (response) => response.writeHead(failures-- > 0 ? 503 : 200).end();
    const { id, secret } = await createEndpoint();
    await raise('patience');
    const [delivery] = await settled(id, 1);
    expect(delivery).toMatchObject({
      status: 'succeeded',
      status_code: 200,
      attempt_count: 3,
      error_message: null,
    });
    expect(delivery.attempts).toMatchObject([
      { number: 1, status_code: 503, error_message: 'HTTP 503' },
      { number: 2, status_code: 503 },
      { number: 3, status_code: 200, error_message: null },
    ]);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    for (const { body, headers } of receiver.received) new Verifier(secret.slice(3)).verify(body, headers);
    expect((await call('GET', `/${id}`)).json.last_status).toBe('success');
  });

  it('that redirects to the inside is not followed', async () => {
    const inside = await startAnother();
    receiver.respond = (response) => response.writeHead(307, { location: inside.url }).end();
    const { id } = await createEndpoint();
    await raise('lured');
    const [delivery] = await settled(id, 1);
    expect(delivery).toMatchObject({ status: 'failed', status_code: 307, attempt_count: 3 });
    expect(inside.connections).toBe(0);
  });

  it('that answers 410 is disabled, its owner is told, and nothing more is sent to it', async () => {
    receiver.respond = (response) => response.writeHead(410).end();
    const told = await startAnother();
    const { id } = await createEndpoint();
    await createEndpoint(told.url);
    await raise('gone');
    const [delivery] = await settled(id, 1);
    expect(delivery).toMatchObject({
      status: 'failed',
      status_code: 410,
      attempt_count: 1,
      next_retry_at: null,
    });
    expect((await call('GET', `/${id}`)).json).toMatchObject({ active: false, disabled_reason: 'gone' });
    const alerts = await gw.call('GET', '/v1/alerts?alert_type=webhook_disabled', { token: tenant.token });
    expect(alerts.json.data).toMatchObject([
      { severity: 'warning', metadata: { webhook_id: id, reason: 'gone' } },
    ]);
    await eventually(async () => expect(told.received).toHaveLength(2));
    const events = told.received.map(({ json }) => json.type).sort();
    expect(events).toEqual(['alert.cost_anomaly', 'alert.webhook_disabled']);
    expect(receiver.received).toHaveLength(1);
    const revived = (await call('PUT', `/${id}`, { active: true })).json;
    expect(revived).toMatchObject({ active: true, disabled_reason: null });
    receiver.respond = (response) => response.end();
    await raise('back');
    await eventually(async () => expect(receiver.received).toHaveLength(2));
  });

  it('that hangs delays no other', async () => {
    const hanging = await Promise.all(Array.from({ length: 9 }, startAnother));
    for (const each of hanging) {
      each.respond = () => undefined;
      await createEndpoint(each.url);
    }
    const { id } = await createEndpoint();
    const startedAtMs = Date.now();
    for (let number = 0; number < 20; number++) await raise(`quick ${number}`);
    await settled(id, 20);
    // They hang for fifteen seconds; waiting for any of them would show.
    expect(Date.now() - startedAtMs).toBeLessThan(12_000);
    expect(hanging.every(({ received }) => received.length >= 1)).toBe(true);
    // An endpoint that is not known to answer is asked one thing at a time.
    expect(hanging.every(({ received }) => received.length === 1)).toBe(true);
  });
});

describe('a cancelled account', () => {
  it('is sent nothing any more', async () => {
    const { id } = await createEndpoint();
    await raise('before');
    await settled(id, 1);
    await gw.call('DELETE', '/v1/account', { token: tenant.token });
    await raise('after');
    await eventually(async () => {
      const waiting = await gw.sql('select 1 from events where tenant_id = $1 and fanned_out_at is null', [
        tenant.tenantId,
      ]);
      expect(waiting).toEqual([]);
    });
    expect(receiver.received).toHaveLength(1);
  });
});
