import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { makeDirectory, removeDirectories } from './carrying.ts';
import { type Program, type Seen, send, startProgram } from './program.ts';

const PATH = '/v1/proxy/prov_a/v1/chat/completions';
const BODY = { model: 'gpt-4o-mini', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] };

let gateway: Gateway;
const programs: Program[] = [];
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_ROLE: 'api' } });
});
afterAll(async () => {
  for (const program of programs) await program.kill();
  await gateway.stop();
  removeDirectories();
});
beforeEach(() => gateway.simulator.reset());

/** Several processes share one port, so it has to be known beforehand. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function start(dataDir: string, workers: number): Promise<Program> {
  const port = String(await freePort());
  const program = await startProgram(gateway, dataDir, {
    GATEWAY_WORKERS: String(workers),
    GATEWAY_PROXY_PORT: port,
  });
  programs.push(program);
  return program;
}

function workersOf(program: Program): number[] {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(program.child.pid)], {
    encoding: 'utf8',
  });
  return children
    .split('\n')
    .filter((line) => line.includes('worker.js'))
    .map((line) => Number.parseInt(line, 10));
}

/** So many streams that stand still in the middle, on whichever process takes them. */
async function openStreams(program: Program, key: string, count: number): Promise<Array<Promise<Seen>>> {
  gateway.simulator.reset();
  gateway.simulator.script('prov_a', { fault: 'hang_mid_body', faultAfterChunks: 1, chunks: 4 });
  const streams = Array.from({ length: count }, () =>
    send(program.proxyUrl + PATH, {
      key,
      body: { ...BODY, stream: true, stream_options: { include_usage: true } },
    }),
  );
  await gateway.simulator.arrived(count);
  return streams;
}

interface Row {
  id: string;
  interrupted: boolean;
}

const rowsOf = (tenantId: string) =>
  gateway.sql<Row>('select id, interrupted from requests where tenant_id = $1', [tenantId]);

test('two processes serve one port; one that is killed comes back, and what it had in flight is on record once', async () => {
  const tenant = await gateway.onboard();
  const dataDir = makeDirectory();
  const program = await start(dataDir, 2);
  const streams = await openStreams(program, tenant.key, 40);
  const before = workersOf(program);
  expect(before).toHaveLength(2);
  process.kill(before[0]!, 'SIGKILL');
  await eventually(async () => {
    const now = workersOf(program);
    expect(now).toHaveLength(2);
    expect(now).not.toContain(before[0]);
  });
  // Calls are taken meanwhile and after.
  gateway.simulator.release();
  const seen = await Promise.all(streams);
  const complete = seen.filter((call) => call.complete);
  expect(complete.length).toBeGreaterThan(0);
  expect(complete.length).toBeLessThan(40);
  await eventually(async () => {
    const rows = await rowsOf(tenant.tenantId);
    expect(rows).toHaveLength(40);
    expect(rows.filter(({ interrupted }) => interrupted)).toHaveLength(40 - complete.length);
  });
  gateway.simulator.reset();
  expect(
    (await send(program.proxyUrl + PATH, { key: tenant.key, body: { ...BODY, stream: false } })).status,
  ).toBe(200);
  program.child.kill('SIGTERM');
  expect(await program.ended).toBe(0);
  expect(readdirSync(join(dataDir, 'journal')).sort()).toEqual(['1', '2']);
  const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token: tenant.token });
  expect(verified).toMatchObject({ valid: true, records_checked: 41 });
}, 120_000);

test('killed with three processes and started with one, it carries over what all three had written', async () => {
  const tenant = await gateway.onboard();
  const made = await gateway.call('POST', '/v1/budgets', {
    token: tenant.token,
    body: { amount_usd: 100, mode: 'hard' },
  });
  expect(made.status).toBe(201);
  const dataDir = makeDirectory();
  const program = await start(dataDir, 3);
  const streams = await openStreams(program, tenant.key, 60);
  const orphans = workersOf(program);
  expect(orphans).toHaveLength(3);
  // Only the one above them is killed: they must not go on writing beside those that come after.
  await program.kill();
  const next = await start(dataDir, 1);
  gateway.simulator.release();
  await Promise.all(streams);
  const rows = await eventually(async () => {
    const found = await rowsOf(tenant.tenantId);
    expect(found).toHaveLength(60);
    return found;
  });
  expect(rows.every(({ interrupted }) => interrupted)).toBe(true);
  expect(readdirSync(join(dataDir, 'journal'))).toEqual(['1']);
  await eventually(async () => {
    const { json } = await gateway.call('GET', `/v1/budgets/${made.json.id}`, { token: tenant.token });
    expect(json.reserved_microdollars).toBe(0);
    expect(json.current_spend_microdollars).toBeGreaterThan(0);
  });
  next.child.kill('SIGTERM');
  expect(await next.ended).toBe(0);
}, 120_000);
