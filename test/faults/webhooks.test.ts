import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { raiseAlert } from '../../src/server/store/alerts.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { type Gateway, startGateway } from '../harness.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'dist', 'server', 'main.js');
const ENDPOINTS = 4;
const ALERTS = 60;
const KILLS = 5;
const RECEIVERS_PAUSE_MS = 25;
const PATIENCE_MS = 100_000;

let gw: Gateway;
let database: Database;
let receiver: Receiver;
const directories: string[] = [];
const workers: ChildProcess[] = [];

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
  receiver.respond = (response) => setTimeout(() => response.end(), RECEIVERS_PAUSE_MS);
});
afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await database.close();
  await gw.stop();
  await receiver.close();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function startWorker(): ChildProcess {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-worker-'));
  directories.push(dataDir);
  const worker = spawn(process.execPath, [PROGRAM], {
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
  workers.push(worker);
  return worker;
}

async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (Date.now() > endMs) throw new Error(`waited in vain until ${what}`);
    await sleep(20);
  }
}

describe('workers that are killed in the middle of deliveries', () => {
  it('lose none, and repeat one only under its own id', { timeout: 2 * PATIENCE_MS }, async () => {
    const { token, tenantId } = await gw.signUp();
    for (let number = 0; number < ENDPOINTS; number++) {
      const body = { url: `${receiver.url}/${number}`, event_types: ['alert.all'] };
      expect((await gw.call('POST', '/v1/webhooks', { token, body })).status).toBe(201);
    }
    for (let number = 0; number < ALERTS; number++) {
      await database.asTenant(tenantId, (db) =>
        raiseAlert(db, {
          tenantId,
          type: 'cost_anomaly',
          severity: 'info',
          title: `alert ${number}`,
          metadata: {},
          cause: `alert ${number}`,
        }),
      );
    }
    for (let kill = 0; kill < KILLS; kill++) {
      const worker = startWorker();
      const before = receiver.received.length;
      await until(() => receiver.received.length >= before + 12, `worker ${kill} delivers`);
      worker.kill('SIGKILL');
      await once(worker, 'exit');
    }
    const sent = receiver.received.length;
    expect(sent).toBeLessThan(ALERTS * ENDPOINTS);
    const last = startWorker();
    await until(async () => {
      const [row] = await gw.sql<{ done: number }>(
        "select count(*)::int as done from webhook_deliveries where status = 'succeeded'",
      );
      return row!.done === ALERTS * ENDPOINTS;
    }, 'everything is delivered');
    last.kill('SIGTERM');
    const [exitCode] = await once(last, 'exit');
    expect(exitCode).toBe(0);

    const events = await gw.sql<{ id: string }>('select id from events where tenant_id = $1', [tenantId]);
    for (let number = 0; number < ENDPOINTS; number++) {
      const got = receiver.received.filter(({ path }) => path === `/${number}`);
      const ids = got.map(({ headers }) => headers['webhook-id']);
      expect(new Set(ids)).toEqual(new Set(events.map(({ id }) => id)));
      // A repetition is the same message: same id, same delivery, same bytes.
      const messages = got.map(({ headers, body }) => `${headers['x-gateway-delivery']} ${body}`);
      expect(new Set(messages).size).toBe(ALERTS);
    }
    const repeated = receiver.received.length - ALERTS * ENDPOINTS;
    expect(repeated).toBeLessThanOrEqual(KILLS * ENDPOINTS * 2);
  });
});
