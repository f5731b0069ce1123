import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { raiseAlert } from '../../src/server/store/alerts.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'dist', 'server', 'main.js');
const KILLS = 20;
/**
 * A killed worker's claims hold its endpoints for seconds; with new endpoints for every worker nobody has to
 * wait for that, and what was left lying comes to a later one in the middle of other work.
 */
const ENDPOINTS = 5;
const ALERTS = 5;
const DELIVERIES = KILLS * ENDPOINTS * ALERTS;
/** Of a round's 25: some are recorded by then, some on their way, and the rest not begun. */
const DELIVERIES_BEFORE_KILL = 10;
const RECEIVERS_PAUSE_MS = 25;
const PATIENCE_MS = 200_000;

let gw: Gateway;
let database: Database;
let receiver: Receiver;
let dataDir: string;
let worker: ChildProcess | null = null;

beforeAll(async () => {
  // This node takes calls only; the deliveries are the workers' business.
  gw = await startGateway({ env: { GATEWAY_ROLE: 'api', GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1' } });
  database = openDatabase({
    url: gw.databaseUrl,
    name: 'test',
    connections: 2,
    onIdleError: () => undefined,
  });
  receiver = await startReceiver();
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-worker-'));
});
afterAll(async () => {
  worker?.kill('SIGKILL');
  await database.close();
  await gw.stop();
  await receiver.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** One after the other on the same data directory, as a supervisor starts them. */
function startWorker(): ChildProcess {
  worker = spawn(process.execPath, [PROGRAM], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: gw.databaseUrl,
      ...gw.secrets,
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_ROLE: 'worker',
      GATEWAY_WEBHOOK_ALLOW_PRIVATE: '1',
      GATEWAY_LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return worker;
}

async function subscribe(round: number): Promise<SignedUp> {
  const tenant = await gw.signUp();
  for (let number = 0; number < ENDPOINTS; number++) {
    const body = { url: `${receiver.url}/${round}/${number}`, event_types: ['alert.all'] };
    expect((await gw.call('POST', '/v1/webhooks', { token: tenant.token, body })).status).toBe(201);
  }
  return tenant;
}

async function raiseAlerts({ tenantId }: SignedUp, round: number): Promise<void> {
  for (let number = 0; number < ALERTS; number++) {
    const title = `alert ${round}-${number}`;
    await database.asTenant(tenantId, (db) =>
      raiseAlert(db, {
        tenantId,
        type: 'cost_anomaly',
        severity: 'info',
        title,
        metadata: {},
        cause: title,
      }),
    );
  }
}

/** Kills the worker while the receiver has a delivery in hand: sent, and never answered. */
function killInTheMiddle(victim: ChildProcess): Promise<unknown> {
  const killed = once(victim, 'exit');
  let left = DELIVERIES_BEFORE_KILL;
  receiver.respond = (response) => {
    left -= 1;
    if (left === 0) victim.kill('SIGKILL');
    if (left > 0) setTimeout(() => response.end(), RECEIVERS_PAUSE_MS);
  };
  return killed;
}

async function countSucceeded(): Promise<number> {
  const [row] = await gw.sql<{ count: number }>(
    "select count(*)::int as count from webhook_deliveries where status = 'succeeded'",
  );
  return row!.count;
}

/** No event waits to be taken to its receivers, no delivery to be made, no mail to be sent. */
async function untilNothingWaits(): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS;
  for (;;) {
    const [row] = await gw.sql<{ jobs: number; deliveries: number }>(
      `select (select count(*) from graphile_worker.jobs
                where task_identifier in ('deliver_event', 'send_mail'))::int as jobs,
              (select count(*) from webhook_deliveries where status = 'pending')::int as deliveries`,
    );
    if (row!.jobs + row!.deliveries === 0) return;
    if (Date.now() > endMs) throw new Error(`still waiting: ${JSON.stringify(row)}`);
    await sleep(100);
  }
}

function subjectsOfMails(): string[] {
  const outbox = join(dataDir, 'outbox');
  const files = readdirSync(outbox).filter((name) => name.endsWith('.eml'));
  return files.map((name) => /^Subject: (.*)\r$/m.exec(readFileSync(join(outbox, name), 'utf8'))![1]!);
}

describe('a worker that is killed twenty times in the middle of five hundred deliveries', () => {
  it('loses none, and repeats one only under its own id', { timeout: 3 * PATIENCE_MS }, async () => {
    const tenants: SignedUp[] = [];
    for (let round = 0; round < KILLS; round++) tenants.push(await subscribe(round));
    for (const [round, tenant] of tenants.entries()) {
      await raiseAlerts(tenant, round);
      await killInTheMiddle(startWorker());
    }
    expect(await countSucceeded()).toBeLessThan(DELIVERIES);
    receiver.respond = (response) => response.end();
    const last = startWorker();
    await untilNothingWaits();
    last.kill('SIGTERM');
    const [exitCode] = await once(last, 'exit');
    expect(exitCode).toBe(0);

    expect(await countSucceeded()).toBe(DELIVERIES);
    for (const [round, { tenantId }] of tenants.entries()) {
      const events = await gw.sql<{ id: string }>('select id from events where tenant_id = $1', [tenantId]);
      expect(events).toHaveLength(ALERTS);
      for (let number = 0; number < ENDPOINTS; number++) {
        const got = receiver.received.filter(({ path }) => path === `/${round}/${number}`);
        const ids = got.map(({ headers }) => headers['webhook-id']);
        expect(new Set(ids)).toEqual(new Set(events.map(({ id }) => id)));
        // A repetition is the same message: same id, same delivery, same bytes.
        const messages = got.map(({ headers, body }) => `${headers['x-gateway-delivery']} ${body}`);
        expect(new Set(messages).size).toBe(ALERTS);
      }
    }
    // Every worker was killed with a delivery under way, which somebody had to send again.
    expect(receiver.received.length - DELIVERIES).toBeGreaterThanOrEqual(KILLS);
    const titles = tenants.flatMap((_, round) =>
      Array.from({ length: ALERTS }, (_unused, number) => `[Gateway] Info: alert ${round}-${number}`),
    );
    expect(new Set(subjectsOfMails())).toEqual(new Set(titles));
  });
});
