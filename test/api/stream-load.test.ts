import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { type Gateway, startGateway } from '../harness.ts';
import { openTail, type TailReader } from './tail-reader.ts';
import { makeTailTraffic, type TailTraffic } from './tail-traffic.ts';

let gw: Gateway;
let other: Gateway;
let database: Database;
let traffic: TailTraffic;
const open: TailReader[] = [];

beforeAll(async () => {
  gw = await startGateway();
  other = await startGateway({ databaseUrl: gw.databaseUrl, simulator: gw.simulator });
  database = openDatabase({ url: gw.databaseUrl, name: 'test', connections: 2, onIdleError: () => {} });
  traffic = makeTailTraffic(gw, database);
});
afterEach(() => {
  for (const reader of open.splice(0)) reader.close();
});
afterAll(async () => {
  await database.close();
  await other.stop();
  await gw.stop();
});

async function tail(token: string, node: Gateway, lastEventId?: string): Promise<TailReader> {
  const reader = await openTail(node.apiUrl, token, lastEventId === undefined ? {} : { lastEventId });
  open.push(reader);
  await reader.until('heartbeat', 1);
  return reader;
}

const idsOf = (reader: TailReader) => reader.of('request').map(({ data }) => data.id);

/** A reader that asks and then takes nothing off its connection until told to read the rest. */
async function openStalled(token: string): Promise<{ readRest(): Promise<string> }> {
  const { hostname, port } = new URL(gw.apiUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(`GET /v1/stream/tail HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
  await new Promise<void>((resolve) => {
    socket.once('readable', resolve);
  });
  return {
    async readRest() {
      let text = '';
      for await (const chunk of socket) text += chunk;
      return text;
    },
  };
}

it('drops a reader that stalls, within its bound and with a last event “overflow”, while 50 others miss nothing', async () => {
  const { token, tenantId } = await gw.signUp();
  const readers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => tail(token, index % 2 ? gw : other)),
  );
  const stalled = await openStalled(token);
  // The connection itself swallows some 4 MB before anything waits in the server.
  const wide = Object.fromEntries(
    ['model_requested', 'model_id', 'service_name', 'user_name', 'end_customer', 'agent'].map((field) => [
      field,
      field.padEnd(256, '.'),
    ]),
  );
  const written = await traffic.prepare(tenantId, 3_500, wide);
  // 500 events a second, as far as the machine keeps up.
  for (let from = 0; from < written.length; from += 50) {
    await Promise.all([traffic.append(tenantId, written.slice(from, from + 50)), sleep(100)]);
  }
  for (const reader of readers) {
    await reader.until('request', written.length);
    expect(idsOf(reader)).toEqual(written);
  }
  const text = await stalled.readRest();
  expect(text).toMatch(/event: overflow\ndata: \{"type":"overflow","message":"[^"]+"\}/);
  const taken = [...text.matchAll(/"type":"request"/g)].length;
  expect(taken).toBeLessThan(written.length);
  const lastId = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)![1]!;
  const expected = written.slice(Math.max(taken, written.length - 1_000));
  const again = await tail(token, gw, lastId);
  await again.until('request', expected.length);
  expect(idsOf(again)).toEqual(expected);
});

it('keeps no more of a tail than it needs', async () => {
  const { tenantId } = await gw.signUp();
  for (let batch = 0; batch < 12; batch++) await traffic.record(tenantId, 1_000);
  const [kept] = await database.asSystem((db) =>
    db.query<{ events: number }>(sql`
      select sum(cardinality(request_ids)) as events from tail_batches where tenant_id = ${tenantId}`),
  );
  expect(Number(kept!.events)).toBe(5_000);
});
