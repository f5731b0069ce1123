import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AlertDraft, raiseAlert } from '../../src/server/store/alerts.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { emitEvent } from '../../src/server/store/events.ts';
import { addJob } from '../../src/server/store/jobs.ts';
import { waitForMails } from '../api/outbox.ts';
import { recordRequests } from '../api/recorded-requests.ts';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

const DASHBOARD = 'https://gateway.example.com';

let gw: Gateway;
let chat: Receiver;
let database: Database;
let tenant: SignedUp;
beforeAll(async () => {
  chat = await startReceiver();
  gw = await startGateway({
    env: {
      GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1',
      GATEWAY_CHAT_HOOK_PREFIX: `${chat.url}/services/`,
      GATEWAY_PUBLIC_URL: DASHBOARD,
    },
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
      severity: 'critical',
      title: 'Budget <Platform> & co is used up',
      metadata: {
        budget_id: 'not-for-people',
        threshold: 1,
        spend_microdollars: 10_500_000,
        spend_usd: '10.500000',
        resets_at: '2026-12-01T00:00:00.000Z',
      },
      cause: `test:${Math.random()}`,
      ...draft,
    }),
  );
const useChat = () =>
  gw.call('PUT', '/v1/account/integrations/chatops', {
    token: tenant.token,
    body: { webhook_url: `${chat.url}/services/T/B/x` },
  });

describe('an alert', () => {
  it('is mailed with its figures and a link to the dashboard, in text and in HTML', async () => {
    await raise();
    const [mail] = await waitForMails(gw.dataDir, tenant.email, 1);
    expect(mail).toContain('Subject: [Gateway] Critical: Budget <Platform> & co is used up');
    expect(mail).toContain('  Threshold  100 %');
    expect(mail).toContain('  Spend      $10.50');
    expect(mail).toContain('  Resets at  2026-12-01 00:00 UTC');
    expect(mail).toContain(`${DASHBOARD}/alerts`);
    expect(mail).toContain('Budget &lt;Platform&gt; &amp; co is used up');
    expect(mail).not.toContain('not-for-people');
  });

  it('tells its figures in the order in which they matter, and names what it is about', async () => {
    await raise({
      type: 'pricing_change',
      metadata: {
        price_change_id: 'p-1',
        provider: 'prov_b',
        model_id: 'claude-sonnet-4-5',
        effective_at: '2026-12-01T00:00:00.000Z',
        differences: [{ field: 'pricing_input_per_mtok' }],
        estimated_monthly_effect_microdollars: -1_500_000,
        estimated_monthly_effect_usd: '-1.500000',
      },
    });
    const [mail] = await waitForMails(gw.dataDir, tenant.email, 1);
    const facts = [...mail!.matchAll(/^ {2}(\S.*?) {2,}(.*)\r$/gm)].map(([, label, value]) => [label, value]);
    expect(facts).toEqual([
      ['Estimated monthly effect', '-$1.50'],
      ['Provider', 'Anthropic (prov_b)'],
      ['Model', 'claude-sonnet-4-5'],
      ['Effective at', '2026-12-01 00:00 UTC'],
    ]);
  });

  it('of a spend quota says its threshold in percent', async () => {
    const quota = { dimension_type: 'tenant_total', period: 'month', limit_microdollars: 1_000_000 };
    const { token, tenantId } = tenant;
    const made = await gw.call('POST', '/v1/spend-quotas', { token, body: quota });
    expect(made.status).toBe(201);
    await recordRequests(gw, tenantId, [
      { created_at: new Date().toISOString(), cost_microdollars: 850_000 },
    ]);
    await database.asSystem((db) => addJob(db, 'check_quotas', {}));
    const mails = await waitForMails(gw.dataDir, tenant.email, 1);
    expect(mails[0]).toContain('Subject: [Gateway] Warning: 80% of the spend quota');
    expect(mails[0]).toMatch(/^ {2}Spend {2,}\$0\.85\r\n {2}Limit {2,}\$1\.00\r\n {2}Threshold {2,}80 %\r$/m);
  });

  it('is told in the chat with title, figures and link', async () => {
    await useChat();
    await raise();
    await eventually(async () => expect(chat.received).toHaveLength(1));
    expect(chat.received[0]!.json).toEqual({
      text: 'Critical: Budget &lt;Platform&gt; &amp; co is used up',
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'Budget <Platform> & co is used up' } },
        {
          type: 'section',
          fields: expect.arrayContaining([
            { type: 'mrkdwn', text: '*Threshold*\n100 %' },
            { type: 'mrkdwn', text: '*Spend*\n$10.50' },
          ]),
        },
        { type: 'section', text: { type: 'mrkdwn', text: `<${DASHBOARD}/alerts|Open in Gateway>` } },
        {
          type: 'context',
          elements: [{ type: 'mrkdwn', text: expect.stringMatching(/^Critical · .* UTC$/) }],
        },
      ],
    });
  });

  it('is told again to a chat that was out of order', async () => {
    await useChat();
    let failures = 1;
    chat.respond = (response) => response.writeHead(failures-- > 0 ? 500 : 200).end();
    await raise();
    await eventually(async () => expect(chat.received).toHaveLength(2));
    expect(chat.received[0]!.body).toBe(chat.received[1]!.body);
  });

  it('is not pressed upon a chat whose hook is gone', async () => {
    await useChat();
    chat.respond = (response) => response.writeHead(404).end('no_service');
    await raise();
    await eventually(async () => {
      expect(chat.received).toHaveLength(1);
      const jobs = await gw.sql(
        `select 1 from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
          where t.identifier = 'send_chat'`,
      );
      expect(jobs).toEqual([]);
    });
  });

  it('among very many is in the list all the same, but the mails stop at sixty an hour and say so', async () => {
    for (let number = 0; number < 70; number++) await raise({ title: `many ${number}`, severity: 'info' });
    const mails = await waitForMails(gw.dataDir, tenant.email, 60);
    await eventually(async () => {
      const waiting = await gw.sql('select 1 from events where fanned_out_at is null');
      expect(waiting).toEqual([]);
    });
    expect(mails).toHaveLength(60);
    expect(mails.filter((mail) => mail.includes('There are very many alerts.'))).toHaveLength(1);
    const list = await gw.call('GET', '/v1/alerts?limit=1', { token: tenant.token });
    expect(list.json.total).toBe(70);
  });
});

describe('a kill switch', () => {
  it('is mailed and told in the chat although it is no alert of the list', async () => {
    await useChat();
    await database.asTenant(tenant.tenantId, (db) =>
      emitEvent(db, {
        tenantId: tenant.tenantId,
        type: 'alert.kill_switch',
        data: {
          id: 'k',
          scope_type: 'agent',
          scope_value: 'crawler',
          reason: 'runaway loop',
          activated_by: 'me@x',
        },
      }),
    );
    const [mail] = await waitForMails(gw.dataDir, tenant.email, 1);
    expect(mail).toContain('Kill switch on: agent crawler');
    expect(mail).toContain('runaway loop');
    await eventually(async () => expect(chat.received).toHaveLength(1));
    expect((await gw.call('GET', '/v1/alerts', { token: tenant.token })).json.total).toBe(0);
  });
});
