import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, type Gateway, type SignedUp, startGateway } from '../harness.ts';
import { startToxicProxy } from '../toxic-proxy.ts';
import { makeDirectory, makeRecord, removeDirectories, startCarrying, writtenOf } from './carrying.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_ROLE: 'api' } });
});
afterAll(async () => {
  await gateway.stop();
  removeDirectories();
});

async function signUpWithBudget(): Promise<SignedUp> {
  const tenant = await gateway.signUp();
  const made = await gateway.call('POST', '/v1/budgets', {
    token: tenant.token,
    body: { amount_usd: 0.15, mode: 'hard', period: 'monthly' },
  });
  expect(made.status).toBe(201);
  return tenant;
}

async function verify(token: string): Promise<{ valid: boolean; records_checked: number }> {
  return (await gateway.call('GET', '/v1/ledger/verify', { token })).json;
}

test('carrying a whole journal over three times writes what once does', async () => {
  const tenant = await signUpWithBudget();
  const first = startCarrying(gateway);
  await Promise.all(Array.from({ length: 100 }, () => first.journal.end(...makeRecord(tenant.tenantId))));
  await first.ingest.caughtUp;
  await first.stop();
  const once = await writtenOf(gateway, tenant.tenantId);
  expect(once.requests).toHaveLength(100);
  expect(once.ledger_records).toHaveLength(100);
  expect(once.budget_periods).toMatchObject([{ row: { committed_microdollars: 100_000 } }]);
  expect(once.alerts).toHaveLength(1);
  for (let time = 2; time <= 3; time += 1) {
    const again = startCarrying(gateway, { directory: first.directory });
    await again.ingest.caughtUp;
    await again.stop();
    expect(await writtenOf(gateway, tenant.tenantId)).toEqual(once);
    expect(existsSync(join(first.directory, 'quarantine.jsonl'))).toBe(false);
  }
  expect(await verify(tenant.token)).toMatchObject({ valid: true, records_checked: 100 });
});

describe('a record the database cannot hold', () => {
  test('is set aside in a file, and the rest goes on', async () => {
    const tenant = await signUpWithBudget();
    const carrying = startCarrying(gateway);
    const records = Array.from({ length: 50 }, (_, n) =>
      makeRecord(tenant.tenantId, n === 20 ? { cost_microdollars: -5 } : {}),
    );
    await Promise.all(records.map((record) => carrying.journal.end(...record)));
    await carrying.stop();
    const written = await writtenOf(gateway, tenant.tenantId);
    expect(written.requests).toHaveLength(49);
    expect(await verify(tenant.token)).toMatchObject({ valid: true, records_checked: 49 });
    const aside = readFileSync(join(carrying.directory, 'quarantine.jsonl'), 'utf8').trim().split('\n');
    expect(aside.map((line) => JSON.parse(line).id)).toEqual([records[20]![0].id]);
  });

  test('only for a text in it has that text mended', async () => {
    const tenant = await signUpWithBudget();
    const carrying = startCarrying(gateway);
    const broken = { service_name: 'a\0b', model_requested: 'gpt\ud800', tags: { '\0': '\udc00' } };
    await carrying.journal.end(...makeRecord(tenant.tenantId, broken));
    await carrying.journal.end(...makeRecord(tenant.tenantId));
    await carrying.stop();
    const { requests } = await writtenOf(gateway, tenant.tenantId);
    expect(requests).toHaveLength(2);
    expect(requests).toMatchObject([{ row: {} }, { row: {} }]);
    const rows = requests as Array<{ row: { service_name: string; model_requested: string } }>;
    expect(rows.map(({ row }) => row.service_name).sort()).toEqual(['a\ufffdb', 'checkout']);
    expect(await verify(tenant.token)).toMatchObject({ valid: true, records_checked: 2 });
  });
});

test('a fault that is not the records’ own sets nothing aside', async () => {
  const tenant = await signUpWithBudget();
  const wrong = new URL(gateway.databaseUrl);
  wrong.pathname = '/no_such_database';
  const directory = makeDirectory();
  const refused = startCarrying(gateway, { directory, databaseUrl: wrong.href });
  await refused.journal.end(...makeRecord(tenant.tenantId));
  await eventually(async () => expect(refused.ingest.lastError).toContain('no_such_database'));
  expect(refused.ingest.recordsPending).toBe(1);
  await refused.stop();
  expect(existsSync(join(directory, 'quarantine.jsonl'))).toBe(false);
  const carrying = startCarrying(gateway, { directory });
  await carrying.journal.end(...makeRecord(tenant.tenantId));
  await eventually(async () => expect(carrying.ingest.recordsPending).toBe(0));
  await carrying.stop();
  expect((await writtenOf(gateway, tenant.tenantId)).requests).toHaveLength(2);
});

test('a connection cut between COMMIT and its answer leaves every row there once', async () => {
  const tenant = await signUpWithBudget();
  const { hostname: host, port } = new URL(gateway.databaseUrl);
  const toxic = await startToxicProxy({ host, port: Number(port) });
  const carrying = startCarrying(gateway, { databaseUrl: toxic.through(gateway.databaseUrl) });
  const holder_id = '00000000-0000-7000-8000-00000000000a';
  const reservations = [{ budget_id: holder_id, period_start: '2026-01-01T00:00:00.000Z', holder_id }];
  let commits = 0;
  // Every other commit's answer is lost, so that the one after it finds its records there.
  toxic.cutAfter((sent) => sent.includes('commit\0') && ++commits % 2 === 1);
  const rounds = 25;
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all([
      carrying.journal.end(...makeRecord(tenant.tenantId, { reservations })),
      carrying.journal.end(...makeRecord(tenant.tenantId, { reservations })),
    ]);
    await eventually(async () => expect(carrying.spent.length).toBe(round + 1));
  }
  await carrying.stop();
  await toxic.close();
  expect(commits).toBeGreaterThanOrEqual(2 * rounds);
  // The leases hear of every record once, also of those whose commit went unanswered.
  expect(carrying.spent.reduce((sum, { cost_microdollars }) => sum + cost_microdollars, 0)).toBe(
    rounds * 2_000,
  );
  const written = await writtenOf(gateway, tenant.tenantId);
  expect(written.requests).toHaveLength(2 * rounds);
  expect(written.budget_periods).toMatchObject([{ row: { committed_microdollars: 2 * rounds * 1_000 } }]);
  expect(await verify(tenant.token)).toMatchObject({ valid: true, records_checked: 2 * rounds });
});

test('three nodes that append for one tenant at once make one chain, without gap or fork', async () => {
  const tenant = await signUpWithBudget();
  const nodes = [startCarrying(gateway), startCarrying(gateway), startCarrying(gateway)];
  const perNode = 400;
  await Promise.all(
    nodes.map(async ({ journal }) => {
      for (let n = 0; n < perNode; n += 20) {
        await Promise.all(Array.from({ length: 20 }, () => journal.end(...makeRecord(tenant.tenantId))));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }),
  );
  for (const node of nodes) await node.stop();
  expect(await verify(tenant.token)).toMatchObject({ valid: true, records_checked: 3 * perNode });
  const [figures] = await gateway.sql(
    `select count(*)::int as records, count(distinct sequence_number)::int as places,
            max(sequence_number)::int as last, count(distinct request_id)::int as requests
       from ledger_records where tenant_id = $1`,
    [tenant.tenantId],
  );
  const all = 3 * perNode;
  expect(figures).toEqual({ records: all, places: all, last: all, requests: all });
});
