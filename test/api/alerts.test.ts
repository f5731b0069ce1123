import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AlertDraft, raiseAlert } from '../../src/server/store/alerts.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';
import { waitForMails } from './outbox.ts';

let gw: Gateway;
let chat: Receiver;
let database: Database;
let tenant: SignedUp;
beforeAll(async () => {
  chat = await startReceiver();
  gw = await startGateway({
    env: { GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1', GATEWAY_CHAT_HOOK_PREFIX: `${chat.url}/services/` },
  });
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
  await chat.close();
});
beforeEach(async () => {
  chat.received.length = 0;
  chat.respond = (response) => response.end('ok');
  tenant = await gw.signUp();
});

const raise = (draft: Partial<AlertDraft> = {}) =>
  database.asTenant(tenant.tenantId, (db) =>
    raiseAlert(db, {
      tenantId: tenant.tenantId,
      type: 'budget_threshold',
      severity: 'warning',
      title: 'Budget at 80 %',
      metadata: { budget_id: 'b', threshold: 0.8 },
      cause: `test:${Math.random()}`,
      ...draft,
    }),
  );
const get = (query = '', as = tenant.token) => gw.call('GET', `/v1/alerts${query}`, { token: as });
const put = (id: string, word = 'acknowledge', as = tenant.token) =>
  gw.call('PUT', `/v1/alerts/${encodeURIComponent(id)}/${word}`, { token: as });
const useChat = (path = '/services/T/B/secret') =>
  gw.call('PUT', '/v1/account/integrations/chatops', {
    token: tenant.token,
    body: { webhook_url: chat.url + path },
  });

describe('the list of alerts', () => {
  it('shows them newest first, in pages, by whether acknowledged, severity and type', async () => {
    await raise({ title: 'one', severity: 'info' });
    await raise({ title: 'two', type: 'cost_anomaly', severity: 'critical' });
    await raise({ title: 'three', type: 'model_change' });
    const all = (await get()).json;
    expect(all).toMatchObject({ total: 3, limit: 50, offset: 0 });
    const titles = async (query: string) =>
      (await get(query)).json.data.map((row: { title: string }) => row.title);
    expect(await titles('')).toEqual(['three', 'two', 'one']);
    expect(all.data[2]).toEqual({
      id: expect.any(String),
      alert_type: 'budget_threshold',
      severity: 'info',
      title: 'one',
      acknowledged: false,
      acknowledged_at: null,
      created_at: expect.any(String),
      metadata: { budget_id: 'b', threshold: 0.8 },
    });
    expect(await titles('?limit=1&offset=1')).toEqual(['two']);
    expect(await titles('?severity=critical')).toEqual(['two']);
    expect(await titles('?alert_type=model_change')).toEqual(['three']);
    await put(all.data[0].id);
    expect(await titles('?acknowledged=false')).toEqual(['two', 'one']);
    expect(await titles('?acknowledged=true')).toEqual(['three']);
    expect((await get('?acknowledged=false&severity=critical')).json.total).toBe(1);
  });

  it.each(['?severity=loud', '?alert_type=other', '?acknowledged=maybe', '?limit=-1', '?offset=x'])(
    'refuses %s',
    async (query) => expect((await get(query)).json.error).toBe('invalid_field'),
  );

  it('is the tenant’s own', async () => {
    await raise();
    const stranger = (await gw.signUp()).token;
    expect((await get('', stranger)).json.total).toBe(0);
    expect((await gw.call('GET', '/v1/alerts')).json.error).toBe('missing_auth');
  });
});

describe('acknowledging', () => {
  it.each(['acknowledge', 'ack'])('works under the path /%s, and again without harm', async (word) => {
    await raise();
    const { id } = (await get()).json.data[0];
    const first = await put(id, word);
    expect([first.status, first.json.acknowledged]).toEqual([200, true]);
    expect(await put(id, word)).toMatchObject({ status: 200, json: first.json });
    const audit = await gw.sql('select 1 from audit_entries where resource_id = $1', [id]);
    expect(audit).toHaveLength(1);
  });

  it('is not found for another tenant, an unknown and a malformed id alike', async () => {
    await raise();
    const { id } = (await get()).json.data[0];
    const stranger = (await gw.signUp()).token;
    const answers = await Promise.all(
      [id, '018f0000-0000-7000-8000-00000000dead', 'x', "'"].map((each) => put(each, 'ack', stranger)),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(404);
    expect((await get()).json.data[0].acknowledged).toBe(false);
  });
});

describe('one cause', () => {
  it('raises one alert and one event, however many see it at once', async () => {
    const raised = await Promise.all(Array.from({ length: 8 }, () => raise({ cause: 'the same' })));
    expect(raised.filter(Boolean)).toHaveLength(1);
    expect((await get()).json.total).toBe(1);
    const events = await gw.sql('select 1 from events where tenant_id = $1', [tenant.tenantId]);
    expect(events).toHaveLength(1);
  });
});

describe('the test of alerts', () => {
  const test = () => gw.call('POST', '/v1/alerts/test', { token: tenant.token });

  it('mails, and says so, when there is no chat', async () => {
    const answer = await test();
    expect(answer).toMatchObject({ status: 200, json: { sent_to: ['email'], failed: [] } });
    const [mail] = await waitForMails(gw.dataDir, tenant.email, 1);
    expect(mail).toContain('Test alert from Gateway');
    expect(chat.received).toHaveLength(0);
  });

  it('posts to the chat too when there is one', async () => {
    await useChat();
    expect((await test()).json).toEqual({ sent_to: ['chat', 'email'], failed: [] });
    expect(chat.received).toHaveLength(1);
    expect(chat.received[0]!.path).toBe('/services/T/B/secret');
    expect(chat.received[0]!.json).toMatchObject({ text: 'Info: Test alert from Gateway' });
    expect(chat.received[0]!.json.blocks[0]).toMatchObject({ type: 'header' });
  });

  it('names only what was really used', async () => {
    await useChat();
    chat.respond = (response) => response.writeHead(404).end('no_service');
    expect((await test()).json).toEqual({
      sent_to: ['email'],
      failed: [{ destination: 'chat', reason: 'HTTP 404: no_service' }],
    });
  });

  it('says so when the chat hook cannot be opened, and mails all the same', async () => {
    await useChat();
    await gw.sql(`update tenants set chat_webhook_sealed = '\\x00' where tenant_id = $1`, [tenant.tenantId]);
    const reason = 'The address of the chat hook cannot be opened. Set it again.';
    expect((await test()).json).toEqual({ sent_to: ['email'], failed: [{ destination: 'chat', reason }] });
  });
});
