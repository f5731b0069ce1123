import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { waitForMails } from '../api/outbox.ts';
import { openTail, type TailReader } from '../api/tail-reader.ts';
import { type Gateway, makeDatabase, startGateway } from '../harness.ts';
import { bodyThatReserves, countOf, spend } from '../proxy/spending.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

const NODES = 3;
const READERS_PER_NODE = 2;
const CALLS = 1_000;
const CENT = 10_000;
/** A thousand calls of a cent are 83 % of it. */
const LIMIT_USD = 12;
/** What such a budget passes on the way: each of these is told once, everywhere. */
const PERCENTS = [50, 80];
/** Nobody waits that long unless something is lost. */
const PATIENCE_MS = 120_000;

let simulator: Simulator;
let outside: Receiver;
let gw: Gateway;
const nodes: Gateway[] = [];
const readers: TailReader[] = [];
beforeAll(async () => {
  simulator = await startSimulator();
  outside = await startReceiver();
  const databaseUrl = await makeDatabase();
  const env = {
    GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1',
    GATEWAY_CHAT_HOOK_PREFIX: `${outside.url}/chat/`,
  };
  for (let n = 0; n < NODES; n++) nodes.push(await startGateway({ databaseUrl, simulator, env }));
  gw = nodes[0]!;
});
afterAll(async () => {
  for (const reader of readers) reader.close();
  for (const node of nodes) await node.stop();
  await outside.close();
  await simulator.close();
});

/** Everything that could still bring one more message about, counted at one moment; 0 with every call on record. */
async function countWaiting(): Promise<number> {
  const [row] = await gw.sql<{ waiting: number }>(
    `select (${CALLS} - (select count(*) from requests)
           + (select count(*) from graphile_worker.jobs
               where task_identifier in ('deliver_event', 'send_mail', 'send_chat'))
           + (select count(*) from events where fanned_out_at is null)
           + (select count(*) from webhook_deliveries where status = 'pending'))::int as waiting`,
  );
  return row!.waiting;
}

/** Readers before whom something of the tail still lies. */
async function countReadersBehind(): Promise<number> {
  const [head] = await gw.sql<{ position: string }>('select position::text from tail_heads');
  return readers.filter((reader) => reader.lastId() !== head!.position).length;
}

async function untilNone(count: () => Promise<number>): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS;
  for (let left = await count(); left !== 0; left = await count()) {
    if (Date.now() > endMs) throw new Error(`${count.name} still answers ${left}`);
    await sleep(100);
  }
}

const receivedAt = (path: string) => outside.received.filter((received) => received.path === path);
const ascending = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);
const percentOf = (title: string) => Number(/(\d+)% of the budget for the organization/.exec(title)?.[1]);

it('a thousand calls on three nodes over 80 % of a budget are one alert, mail, chat message, webhook event and tail event', {
  timeout: 3 * PATIENCE_MS,
}, async () => {
  const { token, key, email } = await gw.onboard();
  const post = (path: string, body: unknown) => gw.call('POST', path, { token, body });
  for (const type of ['alert.all', 'alert.budget_threshold', 'alert.kill_switch']) {
    const made = await post('/v1/webhooks', { url: `${outside.url}/${type}`, event_types: [type] });
    expect(made.status).toBe(201);
  }
  const hook = { webhook_url: `${outside.url}/chat/T/B/x` };
  expect((await gw.call('PUT', '/v1/account/integrations/chatops', { token, body: hook })).status).toBe(200);
  expect((await post('/v1/budgets', { amount_usd: LIMIT_USD, mode: 'soft' })).status).toBe(201);
  for (const node of nodes) {
    for (let n = 0; n < READERS_PER_NODE; n++) readers.push(await openTail(node.apiUrl, token));
  }
  for (const reader of readers) await reader.until('heartbeat', 1);

  const { body, usage } = bodyThatReserves(CENT);
  simulator.script('prov_a', { usage });
  expect(countOf(await spend(nodes, { key, body, tries: CALLS, clients: 24 }))).toEqual({ 200: CALLS });
  await untilNone(countWaiting);
  await untilNone(countReadersBehind);

  const alerts = (await gw.call('GET', '/v1/alerts', { token })).json;
  expect(alerts.total).toBe(PERCENTS.length);
  const titles: string[] = alerts.data.map(({ title }: { title: string }) => title);
  expect(ascending(titles.map(percentOf))).toEqual(PERCENTS);
  const mails = (await Promise.all(nodes.map(({ dataDir }) => waitForMails(dataDir, email, 0)))).flat();
  expect(ascending(mails.map((mail) => percentOf(/^Subject: .*$/m.exec(mail)![0])))).toEqual(PERCENTS);
  const chats = receivedAt('/chat/T/B/x').map(({ json }) => percentOf(json.text));
  expect(ascending(chats)).toEqual(PERCENTS);
  for (const path of ['/alert.all', '/alert.budget_threshold']) {
    const fractions = receivedAt(path).map(({ json }) => json.data.metadata.threshold);
    expect(ascending(fractions)).toEqual(PERCENTS.map((percent) => percent / 100));
  }
  expect(receivedAt('/alert.kill_switch')).toEqual([]);
  expect(readers).toHaveLength(NODES * READERS_PER_NODE);
  for (const reader of readers) {
    expect(reader.of('request')).toHaveLength(CALLS);
    expect(ascending(reader.of('alert').map(({ data }) => percentOf(data.title)))).toEqual(PERCENTS);
  }
});
