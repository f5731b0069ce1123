import { Webhook as Verifier } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

let gw: Gateway;
let receiver: Receiver;
let token: string;
let tenantId: string;
beforeAll(async () => {
  gw = await startGateway({ env: { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1' } });
  receiver = await startReceiver();
});
afterAll(async () => {
  await gw.stop();
  await receiver.close();
});
beforeEach(async () => {
  receiver.received.length = 0;
  receiver.respond = (response) => response.end('thanks');
  ({ token, tenantId } = await gw.signUp());
});

const call = (method: string, path: string, body?: unknown, as = token) =>
  gw.call(method, `/v1/webhooks${path}`, { token: as, ...(body !== undefined && { body }) });
const create = (body: Record<string, unknown> = {}) =>
  call('POST', '', { url: `${receiver.url}/hook`, event_types: ['alert.all'], ...body });
const deliveriesOf = async (id: string) => (await call('GET', `/${id}/deliveries`)).json;

describe('a webhook endpoint', () => {
  it('is created with a secret that is shown once, listed, read, changed and deleted', async () => {
    const made = await create({ event_types: ['alert.all', 'alert.kill_switch', 'alert.all'] });
    expect(made.status).toBe(201);
    const { secret, ...webhook } = made.json;
    expect(secret).toMatch(/^wh_[A-Za-z0-9+/]{43}=$/);
    expect(webhook).toMatchObject({
      url: `${receiver.url}/hook`,
      event_types: ['alert.all', 'alert.kill_switch'],
      active: true,
      disabled_reason: null,
      last_delivery_at: null,
      last_status: null,
    });
    expect((await call('GET', '')).json).toEqual({ webhooks: [webhook], total: 1 });
    expect((await call('GET', `/${webhook.id}`)).json).toEqual(webhook);
    const changed = await call('PUT', `/${webhook.id}`, { active: false });
    expect(changed.json).toMatchObject({ url: webhook.url, event_types: webhook.event_types, active: false });
    const moved = await call('PUT', `/${webhook.id}`, {
      url: `${receiver.url}/new`,
      event_types: ['alert.cost_anomaly'],
    });
    expect(moved.json).toMatchObject({
      url: `${receiver.url}/new`,
      event_types: ['alert.cost_anomaly'],
      active: false,
    });
    expect((await call('PUT', `/${webhook.id}`, { active: true })).json.active).toBe(true);
    const deleted = await call('DELETE', `/${webhook.id}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect((await call('GET', '')).json).toEqual({ webhooks: [], total: 0 });
    const audit = await gw.sql<{ action: string; details: unknown }>(
      "select action, details from audit_entries where tenant_id = $1 and resource_type = 'webhook' order by id",
      [tenantId],
    );
    expect(audit.map(({ action }) => action)).toEqual([
      'webhook.created',
      'webhook.updated',
      'webhook.updated',
      'webhook.updated',
      'webhook.deleted',
    ]);
    expect(JSON.stringify(audit)).not.toContain(secret);
    expect(JSON.stringify(audit)).not.toContain('/hook');
  });

  it('keeps its secret sealed in the database', async () => {
    const { secret } = (await create()).json;
    const [row] = await gw.sql<{ secret_sealed: Buffer }>(
      'select secret_sealed from webhooks where tenant_id = $1',
      [tenantId],
    );
    expect(row!.secret_sealed.includes(Buffer.from(secret))).toBe(false);
    expect(row!.secret_sealed.includes(Buffer.from(secret.slice(3), 'base64'))).toBe(false);
  });

  it.each([
    [{ url: undefined }, 'invalid_url'],
    [{ url: '' }, 'invalid_url'],
    [{ url: 7 }, 'invalid_url'],
    [{ url: 'ftp://example.com' }, 'invalid_url'],
    [{ url: 'example.com' }, 'invalid_url'],
    [{ url: 'https://user:pw@example.com' }, 'invalid_url'],
    [{ url: 'https://exa mple.com' }, 'invalid_url'],
    [{ url: `https://example.com/${'x'.repeat(2048)}` }, 'invalid_url'],
    [{ event_types: undefined }, 'invalid_event_type'],
    [{ event_types: [] }, 'invalid_event_type'],
    [{ event_types: 'alert.all' }, 'invalid_event_type'],
    [{ event_types: ['alert.unknown'] }, 'invalid_event_type'],
    [{ event_types: ['alert.all', 'request.created'] }, 'invalid_event_type'],
    [{ event_types: [null] }, 'invalid_event_type'],
  ])('is refused as %j with %s', async (body, error) => {
    const answer = await create(body);
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    const { id } = (await create()).json;
    if (Object.values(body)[0] === undefined) return;
    expect((await call('PUT', `/${id}`, body)).json.error).toBe(error);
  });

  it('subscribes to every type of the registry, and who names another is told which there are', async () => {
    const registry = [
      'alert.all',
      'alert.budget_threshold',
      'alert.kill_switch',
      'alert.cost_anomaly',
      'alert.model_change',
      'alert.pricing_change',
      'webhook.test',
    ];
    const made = await create({ event_types: registry });
    expect(made).toMatchObject({ status: 201, json: { event_types: registry } });
    for (const event_types of [undefined, ['alert.unknown']]) {
      const { message } = (await create({ event_types })).json;
      for (const type of registry) expect(message).toContain(type);
    }
  });

  it('is one of at most ten, also when fifty are asked for at once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => create()));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.every(({ status, json }) => status === 422 && json.error === 'max_webhooks')).toBe(true);
    const { webhooks, total } = (await call('GET', '')).json;
    expect([webhooks.length, total]).toEqual([10, 10]);
    await call('DELETE', `/${webhooks[0].id}`);
    expect((await create()).status).toBe(201);
  });

  it('of another tenant is answered like one that does not exist, byte for byte, and stays as it is', async () => {
    const owner = token;
    const { id } = (await create()).json;
    const test = (await call('POST', `/${id}/test`)).json;
    const stranger = (await gw.signUp()).token;
    const answers = [];
    for (const each of [id, '018f0000-0000-7000-8000-00000000dead', 'not-a-uuid', '%00', "'; drop table"]) {
      const path = `/${encodeURIComponent(each)}`;
      answers.push(await call('GET', path, undefined, stranger));
      answers.push(await call('PUT', path, { active: false }, stranger));
      answers.push(await call('DELETE', path, undefined, stranger));
      answers.push(await call('GET', `${path}/deliveries`, undefined, stranger));
      answers.push(await call('POST', `${path}/test`, {}, stranger));
      answers.push(await call('POST', `${path}/rotate-secret`, {}, stranger));
      answers.push(await call('POST', `${path}/deliveries/${test.delivery_id}/replay`, {}, stranger));
    }
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]!.status, answers[0]!.json.error]).toEqual([404, 'not_found']);
    expect((await call('GET', `/${id}`, undefined, owner)).json.active).toBe(true);
    expect(receiver.received).toHaveLength(1);
  });
});

describe('without private addresses allowed', () => {
  let strict: Gateway;
  beforeAll(async () => {
    strict = await startGateway({ databaseUrl: gw.databaseUrl, simulator: gw.simulator });
  });
  afterAll(() => strict.stop());

  it.each([
    'http://example.com/',
    'https://127.0.0.1/',
    'https://localhost/',
    'https://[::1]/',
    'https://2130706433/',
  ])('an endpoint at %s is refused', async (url) => {
    const body = { url, event_types: ['alert.all'] };
    const answer = await strict.call('POST', '/v1/webhooks', { token, body });
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_url']);
  });

  it('an endpoint on the public internet is taken', async () => {
    const body = { url: 'https://example.com/hook', event_types: ['alert.all'] };
    expect((await strict.call('POST', '/v1/webhooks', { token, body })).status).toBe(201);
  });

  it('an endpoint that was taken while they were is not called', async () => {
    const { id } = (await create()).json;
    const answer = await strict.call('POST', `/v1/webhooks/${id}/test`, { token });
    expect(answer.json).toMatchObject({ status: 'failed', status_code: null });
    expect(receiver.received).toHaveLength(0);
  });
});

describe('a test delivery', () => {
  it('is sent now, signed, and answered with its outcome', async () => {
    const { id, secret } = (await create({ event_types: ['alert.kill_switch'] })).json;
    const answer = await call('POST', `/${id}/test`);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      event_type: 'webhook.test',
      status: 'succeeded',
      status_code: 200,
      attempt_count: 1,
      next_retry_at: null,
      error_message: null,
    });
    const sent = receiver.received[0]!;
    expect(sent.headers).toMatchObject({
      'webhook-id': answer.json.event_id,
      'x-gateway-event': 'webhook.test',
      'x-gateway-delivery': answer.json.delivery_id,
    });
    expect(sent.json).toMatchObject({ id: answer.json.event_id, type: 'webhook.test', tenant_id: tenantId });
    new Verifier(secret.slice(3)).verify(sent.body, sent.headers);
    const webhook = (await call('GET', `/${id}`)).json;
    expect(webhook.last_status).toBe('success');
    expect(webhook.last_delivery_at).not.toBeNull();
    expect((await deliveriesOf(id)).data[0]).toMatchObject({
      id: answer.json.delivery_id,
      status: 'succeeded',
    });
  });

  it.each([
    ['an error', 500, 'HTTP 500: broken'],
    ['a redirect', 302, 'HTTP 302 (redirects are not followed): broken'],
  ])(
    'that gets %s is told as that, is not repeated and is no fault of ours',
    async (_what, status, reason) => {
      receiver.respond = (response) =>
        response.writeHead(status, { location: `${receiver.url}/x` }).end('broken');
      const { id } = (await create()).json;
      const answer = await call('POST', `/${id}/test`);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ status: 'failed', status_code: status, error_message: reason });
      const { data } = await deliveriesOf(id);
      expect(data).toHaveLength(1);
      expect(data[0]).toMatchObject({ status: 'failed', attempt_count: 1, next_retry_at: null });
      expect(data[0].attempts).toMatchObject([{ number: 1, status_code: status, error_message: reason }]);
      expect((await call('GET', `/${id}`)).json).toMatchObject({ last_status: 'failed', active: true });
    },
  );

  it('to nobody is told as that', async () => {
    const { id } = (await create({ url: 'http://127.0.0.1:1/' })).json;
    const answer = await call('POST', `/${id}/test`);
    expect(answer.json).toMatchObject({
      status: 'failed',
      status_code: null,
      error_message: 'The connection was refused.',
    });
  });
});

describe('a replay', () => {
  it('sends the same event under the same id, and makes a failed delivery succeed', async () => {
    receiver.respond = (response) => response.writeHead(503).end();
    const { id, secret } = (await create()).json;
    const failed = (await call('POST', `/${id}/test`)).json;
    receiver.respond = (response) => response.end();
    const replayed = (await call('POST', `/${id}/deliveries/${failed.delivery_id}/replay`)).json;
    expect(replayed).toMatchObject({
      delivery_id: failed.delivery_id,
      event_id: failed.event_id,
      status: 'succeeded',
      status_code: 200,
      attempt_count: 2,
      error_message: null,
    });
    const [first, second] = receiver.received;
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(second!.body).toBe(first!.body);
    new Verifier(secret.slice(3)).verify(second!.body, second!.headers);
    receiver.respond = (response) => response.writeHead(500).end();
    const again = (await call('POST', `/${id}/deliveries/${failed.delivery_id}/replay`)).json;
    expect(again).toMatchObject({ status: 'succeeded', status_code: 500, attempt_count: 3 });
    const { data } = await deliveriesOf(id);
    expect(data[0].attempts.map(({ status_code }: { status_code: number }) => status_code)).toEqual([
      503, 200, 500,
    ]);
    const audit = await gw.sql<{ action: string; delivery_id: string | null }>(
      `select action, details->>'delivery_id' as delivery_id from audit_entries
        where tenant_id = $1 and resource_id = $2 order by id`,
      [tenantId, id],
    );
    expect(audit).toEqual([
      { action: 'webhook.created', delivery_id: null },
      { action: 'webhook.tested', delivery_id: null },
      { action: 'webhook.replayed', delivery_id: failed.delivery_id },
      { action: 'webhook.replayed', delivery_id: failed.delivery_id },
    ]);
  });

  it('of a delivery to another endpoint is not found', async () => {
    const [one, two] = [(await create()).json, (await create()).json];
    const { delivery_id } = (await call('POST', `/${one.id}/test`)).json;
    expect((await call('POST', `/${two.id}/deliveries/${delivery_id}/replay`)).status).toBe(404);
    expect(receiver.received).toHaveLength(1);
  });
});

describe('a rotated secret', () => {
  it('signs beside the old one for a day, and then alone', async () => {
    const { id, secret: first } = (await create()).json;
    const rotated = await call('POST', `/${id}/rotate-secret`);
    expect(rotated.status).toBe(200);
    const { secret: second, previous_secret_valid_until } = rotated.json;
    expect(second).toMatch(/^wh_[A-Za-z0-9+/]{43}=$/);
    expect(second).not.toBe(first);
    expect(Date.parse(previous_secret_valid_until) - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    await call('POST', `/${id}/test`);
    const during = receiver.received[0]!;
    expect(during.headers['webhook-signature']!.split(' ')).toHaveLength(2);
    for (const secret of [first, second]) new Verifier(secret.slice(3)).verify(during.body, during.headers);
    // Only signing looks at this clock here: the token would have expired.
    await gw.sql('update webhooks set previous_secret_valid_until = now() where id = $1', [id]);
    await call('POST', `/${id}/test`);
    const after = receiver.received[1]!;
    new Verifier(second.slice(3)).verify(after.body, after.headers);
    expect(() => new Verifier(first.slice(3)).verify(after.body, after.headers)).toThrow();
  });

  it('twice ends the first one at once', async () => {
    const { id, secret: first } = (await create()).json;
    const second = (await call('POST', `/${id}/rotate-secret`)).json.secret;
    const third = (await call('POST', `/${id}/rotate-secret`)).json.secret;
    await call('POST', `/${id}/test`);
    const sent = receiver.received[0]!;
    for (const secret of [second, third]) new Verifier(secret.slice(3)).verify(sent.body, sent.headers);
    expect(() => new Verifier(first.slice(3)).verify(sent.body, sent.headers)).toThrow();
  });
});

describe('the list of deliveries', () => {
  it('holds the last fifty unless asked otherwise, newest first, in pages', async () => {
    const { id } = (await create()).json;
    await gw.sql(
      `with made as (
         insert into events (tenant_id, id, type, data)
         select $1, gen_random_uuid(), 'alert.cost_anomaly', '{}' from generate_series(1, 60) returning id)
       insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, status)
       select $1, gen_random_uuid(), $2, id, 'failed' from made`,
      [tenantId, id],
    );
    const first = await deliveriesOf(id);
    expect(first).toMatchObject({ total: 60, limit: 50, offset: 0 });
    expect(first.data).toHaveLength(50);
    const ids = first.data.map((row: { id: string }) => row.id);
    expect(ids).toEqual([...ids].sort().reverse());
    const rest = (await call('GET', `/${id}/deliveries?limit=20&offset=50`)).json;
    expect(rest.data).toHaveLength(10);
    expect(new Set([...ids, ...rest.data.map((row: { id: string }) => row.id)]).size).toBe(60);
    expect((await call('GET', `/${id}/deliveries?limit=-1`)).json.error).toBe('invalid_field');
  });
});
