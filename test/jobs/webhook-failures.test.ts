import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { raiseAlert } from '../../src/server/store/alerts.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

const DELAYS_SECONDS = [0, 5, 300, 1800, 7200, 18000, 36000, 36000];
const DAY_MS = 86_400_000;

let gw: Gateway;
let database: Database;
let tenant: SignedUp;
let receiver: Receiver;
let clockMs = Date.now();
beforeAll(async () => {
  gw = await startGateway({ env: { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1' }, nowMs: () => clockMs });
  database = openDatabase({
    url: gw.databaseUrl,
    name: 'test',
    connections: 2,
    onIdleError: () => undefined,
  });
});
afterAll(async () => {
  await database.close();
  await gw.stop();
  await receiver.close();
});
beforeEach(async () => {
  await receiver?.close();
  receiver = await startReceiver();
  receiver.respond = (response) => response.writeHead(500).end('no');
  tenant = await gw.signUp();
});

/** A session does not outlive the days that pass here. */
async function call(method: string, path: string, body?: unknown) {
  const { email, password } = tenant;
  const { token } = (await gw.call('POST', '/v1/auth/login', { body: { email, password } })).json;
  return gw.call(method, path, { token, ...(body !== undefined && { body }) });
}
const createEndpoint = async (): Promise<string> =>
  (await call('POST', '/v1/webhooks', { url: receiver.url, event_types: ['alert.all'] })).json.id;
const read = async (id: string) => (await call('GET', `/v1/webhooks/${id}`)).json;
const deliveriesOf = async (id: string) => (await call('GET', `/v1/webhooks/${id}/deliveries`)).json.data;
const raise = (title: string) =>
  database.asTenant(tenant.tenantId, (db) =>
    raiseAlert(db, {
      tenantId: tenant.tenantId,
      type: 'model_change',
      severity: 'info',
      title,
      metadata: {},
      cause: title,
    }),
  );
const attempts = (id: string, count: number) =>
  eventually(async () => {
    const rows = await gw.sql<{ status: string; next_retry_at: Date | null; made: number }>(
      `select d.status, d.next_retry_at, (select count(*) from webhook_attempts a where a.delivery_id = d.id)::int as made
         from webhook_deliveries d where d.webhook_id = $1 order by d.id desc limit 1`,
      [id],
    );
    expect(rows[0]?.made).toBe(count);
    return rows[0]!;
  });

describe('a receiver that always fails', () => {
  it('is asked at every step of the schedule, within its jitter, and then no more', async () => {
    const id = await createEndpoint();
    await raise('hopeless');
    for (const [step, nextDelay] of DELAYS_SECONDS.slice(1).entries()) {
      const { status, next_retry_at } = await attempts(id, step + 1);
      expect(status).toBe('pending');
      const pauseMs = next_retry_at!.getTime() - clockMs;
      expect(pauseMs).toBeGreaterThanOrEqual(nextDelay * 900);
      expect(pauseMs).toBeLessThanOrEqual(nextDelay * 1100);
      expect(receiver.received).toHaveLength(step + 1);
      clockMs = next_retry_at!.getTime();
    }
    const last = await attempts(id, 8);
    expect(last).toMatchObject({ status: 'failed', next_retry_at: null });
    const [delivery] = await deliveriesOf(id);
    expect(delivery).toMatchObject({
      status: 'failed',
      status_code: 500,
      attempt_count: 8,
      delivered_at: null,
      error_message: 'HTTP 500: no',
    });
    expect(delivery.attempts.map(({ number }: { number: number }) => number)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8,
    ]);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await read(id)).toMatchObject({ active: true, last_status: 'failed' });
  });

  it('for five days is disabled and its owner told; pending retries are given up', async () => {
    const id = await createEndpoint();
    await raise('day one');
    await attempts(id, 1);
    clockMs += 5 * DAY_MS - 1;
    await attempts(id, 2);
    expect(await read(id)).toMatchObject({ active: true });
    clockMs += DAY_MS;
    await attempts(id, 3);
    expect(await read(id)).toMatchObject({ active: false, disabled_reason: 'failing' });
    const [delivery] = await deliveriesOf(id);
    expect(delivery).toMatchObject({
      status: 'failed',
      next_retry_at: null,
      attempt_count: 3,
      error_message: 'The endpoint was disabled.',
    });
    const alerts = (await call('GET', '/v1/alerts?alert_type=webhook_disabled')).json;
    expect(alerts.data).toMatchObject([
      { severity: 'warning', metadata: { webhook_id: id, reason: 'failing' } },
    ]);
    const [audit] = await gw.sql(
      'select actor_type from audit_entries where action = $1 and resource_id = $2',
      ['webhook.disabled', id],
    );
    expect(audit).toEqual({ actor_type: 'system' });
  });

  it('but answered once in between is not disabled', async () => {
    const id = await createEndpoint();
    await raise('one');
    await attempts(id, 1);
    clockMs += 4 * DAY_MS;
    receiver.respond = (response) => response.end();
    await attempts(id, 2);
    receiver.respond = (response) => response.writeHead(500).end();
    clockMs += 4 * DAY_MS;
    await raise('two');
    await attempts(id, 1);
    clockMs += DAY_MS * 4;
    await attempts(id, 2);
    expect(await read(id)).toMatchObject({ active: true, last_status: 'failed' });
  });
});

describe('an endpoint whose secret cannot be opened', () => {
  const spoil = (id: string) => gw.sql(`update webhooks set secret_sealed = '\\x00' where id = $1`, [id]);
  const reason = 'The secret of this endpoint cannot be opened, so nothing can be signed. Rotate it.';

  it('is sent nothing unsigned, and its deliveries end as failed with the reason', async () => {
    const id = await createEndpoint();
    await spoil(id);
    await raise('unsigned');
    for (const step of DELAYS_SECONDS.slice(1).keys()) {
      const { status, next_retry_at } = await attempts(id, step + 1);
      expect(status).toBe('pending');
      clockMs = next_retry_at!.getTime();
    }
    expect(await attempts(id, 8)).toMatchObject({ status: 'failed', next_retry_at: null });
    const [delivery] = await deliveriesOf(id);
    expect(delivery).toMatchObject({
      status: 'failed',
      status_code: null,
      attempt_count: 8,
      error_message: reason,
    });
    expect(await read(id)).toMatchObject({ active: true, last_status: 'failed' });
    const tested = await call('POST', `/v1/webhooks/${id}/test`);
    expect(tested).toMatchObject({ status: 200, json: { status: 'failed', error_message: reason } });
    expect(receiver.connections).toBe(0);
  });

  it('is well again with a new secret, which signs alone', async () => {
    const id = await createEndpoint();
    await spoil(id);
    await raise('unsigned at first');
    const { next_retry_at } = await attempts(id, 1);
    expect((await call('POST', `/v1/webhooks/${id}/rotate-secret`)).status).toBe(200);
    receiver.respond = (response) => response.end();
    clockMs = next_retry_at!.getTime();
    expect(await attempts(id, 2)).toMatchObject({ status: 'succeeded' });
    expect(receiver.received).toHaveLength(1);
    expect(receiver.received[0]!.headers['webhook-signature']).toMatch(/^v1,[^ ]+$/);
  });
});

describe('pending retries', () => {
  it('are given up when the endpoint is deleted', async () => {
    const id = await createEndpoint();
    await raise('deleted');
    await attempts(id, 1);
    expect((await call('DELETE', `/v1/webhooks/${id}`)).status).toBe(204);
    clockMs += DAY_MS;
    // Something sent after it, to know that the sender has looked.
    const next = await createEndpoint();
    await raise('next');
    await attempts(next, 1);
    expect(receiver.received.map(({ json }) => json.data.title)).toEqual(['deleted', 'next']);
    expect((await call('GET', `/v1/webhooks/${id}/deliveries`)).status).toBe(404);
  });

  it('are given up when the endpoint is set inactive, and can be sent by hand', async () => {
    const id = await createEndpoint();
    await raise('paused');
    await attempts(id, 1);
    await call('PUT', `/v1/webhooks/${id}`, { active: false });
    const [delivery] = await deliveriesOf(id);
    expect(delivery).toMatchObject({ status: 'failed', error_message: 'The endpoint was set inactive.' });
    receiver.respond = (response) => response.end();
    const replayed = (await call('POST', `/v1/webhooks/${id}/deliveries/${delivery.id}/replay`)).json;
    expect(replayed).toMatchObject({ status: 'succeeded', attempt_count: 2, error_message: null });
  });

  it('go on as they would after a replay that fails too', async () => {
    const id = await createEndpoint();
    await raise('replayed');
    const { next_retry_at } = await attempts(id, 1);
    const [delivery] = await deliveriesOf(id);
    const replayed = (await call('POST', `/v1/webhooks/${id}/deliveries/${delivery.id}/replay`)).json;
    expect(replayed).toMatchObject({ status: 'pending', status_code: 500, attempt_count: 2 });
    expect(Date.parse(replayed.next_retry_at)).toBe(next_retry_at!.getTime());
    clockMs = next_retry_at!.getTime();
    expect((await attempts(id, 3)).status).toBe('pending');
  });
});

describe('a node that died', () => {
  it('in the middle of an attempt leaves it to be made by another', async () => {
    const id = await createEndpoint();
    await raise('claimed');
    const { next_retry_at } = await attempts(id, 1);
    // What a node leaves behind that claimed the delivery and was killed.
    await gw.sql(
      `update webhook_deliveries set claimed_until = clock_timestamp() + interval '3 seconds' where webhook_id = $1`,
      [id],
    );
    clockMs = next_retry_at!.getTime();
    await attempts(id, 2);
    const [row] = await gw.sql<{ claimed_until: Date | null }>(
      'select claimed_until from webhook_deliveries where webhook_id = $1',
      [id],
    );
    expect(row!.claimed_until).toBeNull();
  });
});
