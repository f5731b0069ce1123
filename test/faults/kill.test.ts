import http from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { makeDirectory, removeDirectories } from './carrying.ts';
import { type Program, randomOf, type Seen, send, startProgram, takeSeed } from './program.ts';

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 5);
const CALLS = 200;
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

async function start(dataDir: string, env?: Record<string, string>): Promise<Program> {
  const program = await startProgram(gateway, dataDir, env);
  programs.push(program);
  return program;
}

interface Row {
  id: string;
  interrupted: boolean;
  usage_source: string;
  status_code: number;
  cost_microdollars: string;
  ledger_records: number;
}

function rowsOf(tenantId: string): Promise<Row[]> {
  return gateway.sql<Row>(
    `select requests.id, interrupted, usage_source, status_code, requests.cost_microdollars,
            (select count(*)::int from ledger_records ledger
              where ledger.tenant_id = requests.tenant_id and ledger.request_id = requests.id) as ledger_records
       from requests where tenant_id = $1`,
    [tenantId],
  );
}

async function expectEverythingAddsUp(tenant: { tenantId: string; token: string }, rows: readonly Row[]) {
  const { json: verified } = await gateway.call('GET', '/v1/ledger/verify', { token: tenant.token });
  expect(verified).toMatchObject({ valid: true, records_checked: rows.length });
  const cost = rows.reduce((sum, row) => sum + Number(row.cost_microdollars), 0);
  await eventually(async () => {
    const { json } = await gateway.call('GET', '/v1/budgets', { token: tenant.token });
    expect(json).toMatchObject([{ current_spend_microdollars: cost, reserved_microdollars: 0 }]);
    expect(await gateway.sql('select * from budget_leases')).toEqual([]);
  });
}

test('killed again and again with 200 calls in flight, it loses nothing it answered and doubles nothing', async () => {
  const random = randomOf(takeSeed());
  const tenant = await gateway.onboard();
  await gateway.call('POST', '/v1/budgets', {
    token: tenant.token,
    body: { amount_usd: 1_000, mode: 'hard', period: 'monthly' },
  });
  const dataDir = makeDirectory();
  const seen: Seen[] = [];
  gateway.simulator.reset();
  for (let round = 0; round < ROUNDS; round += 1) {
    const program = await start(dataDir);
    const agent = new http.Agent({ keepAlive: true, maxSockets: CALLS });
    const calls = Array.from({ length: CALLS }, (_, n) =>
      send(program.proxyUrl + PATH, {
        key: tenant.key,
        agent,
        body: { ...BODY, ...(n % 2 === 0 && { stream: true, stream_options: { include_usage: true } }) },
        headers: { 'x-sim': JSON.stringify({ delayMs: random(400), chunkDelayMs: random(30), chunks: 5 }) },
      }),
    );
    let answered = 0;
    for (const call of calls) call.then(() => (answered += 1));
    const killAfter = random(CALLS);
    await eventually(async () => expect(answered).toBeGreaterThanOrEqual(killAfter));
    await program.kill();
    seen.push(...(await Promise.all(calls)));
    agent.destroy();
  }
  const last = await start(dataDir);
  const complete = seen.filter((call) => call.complete && call.status === 200);
  const arrived = gateway.simulator.calls().length;
  const rows = await eventually(async () => {
    const found = await rowsOf(tenant.tenantId);
    expect(found.length).toBeGreaterThanOrEqual(arrived);
    return found;
  });
  last.child.kill('SIGTERM');
  expect(await last.ended).toBe(0);

  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  expect(rows.filter(({ ledger_records }) => ledger_records !== 1)).toEqual([]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  // What was answered to the end is on record as what it was.
  for (const { requestId } of complete)
    expect(byId.get(requestId!)).toMatchObject({ interrupted: false, usage_source: 'provider' });
  const interrupted = rows.filter((row) => row.interrupted);
  expect(interrupted.length).toBeGreaterThan(0);
  for (const row of interrupted) expect(row).toMatchObject({ usage_source: 'estimated', status_code: 499 });
  expect(rows.length).toBeLessThanOrEqual(ROUNDS * CALLS);
  await expectEverythingAddsUp(tenant, rows);
  console.info(
    `${ROUNDS} kills: ${complete.length} complete, ${arrived} reached the provider, ${interrupted.length} interrupted`,
  );
}, 300_000);

test('asked to stop under load, it ends with 0, cuts no stream and has every call on record', async () => {
  const tenant = await gateway.onboard();
  await gateway.call('POST', '/v1/budgets', {
    token: tenant.token,
    body: { amount_usd: 1_000, mode: 'hard', period: 'monthly' },
  });
  const program = await start(makeDirectory());
  gateway.simulator.reset();
  gateway.simulator.script('prov_a', { fault: 'hang_mid_body', faultAfterChunks: 2, chunks: 5 });
  const streams = Array.from({ length: 50 }, () =>
    send(program.proxyUrl + PATH, {
      key: tenant.key,
      body: { ...BODY, stream: true, stream_options: { include_usage: true } },
    }),
  );
  await gateway.simulator.arrived(50);
  program.child.kill('SIGTERM');
  // It takes nothing new any more, and what is open stays open until the provider goes on.
  await eventually(async () => {
    const late = await send(program.proxyUrl + PATH, { key: tenant.key, body: BODY });
    expect([0, 503]).toContain(late.status);
  });
  gateway.simulator.release();
  const seen = await Promise.all(streams);
  expect(await program.ended).toBe(0);
  expect(seen.filter(({ complete, status }) => !complete || status !== 200)).toEqual([]);
  for (const { text } of seen) expect(text).toContain('[DONE]');
  const rows = await rowsOf(tenant.tenantId);
  const ids = new Set(rows.map(({ id }) => id));
  for (const { requestId } of seen) expect(ids.has(requestId!)).toBe(true);
  expect(rows.filter(({ interrupted }) => interrupted)).toEqual([]);
  await expectEverythingAddsUp(tenant, rows);
});
