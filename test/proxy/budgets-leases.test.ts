import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Budget } from '../../src/server/domain/budgets.ts';
import type { LeaseKeeper } from '../../src/server/proxy/lease-keeper.ts';
import { LeaseWatch } from '../../src/server/proxy/lease-watch.ts';
import type { Reservation } from '../../src/server/proxy/reservation.ts';
import { removeDirectories } from '../faults/carrying.ts';
import { eventually, type Gateway, startGateway } from '../harness.ts';
import { startToxicProxy } from '../toxic-proxy.ts';
import {
  insertBudgets,
  insertTenants,
  type KeeperNodes,
  organizationCap,
  reservedIn,
  startKeeperNodes,
} from './keeper-nodes.ts';

const PRICE = 10;
const LEASE_MS = 3_000;

let gateway: Gateway;
const rigs: KeeperNodes[] = [];
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_ROLE: 'api' } });
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.stop();
});
afterAll(async () => {
  await gateway.stop();
  removeDirectories();
});

async function start(
  count: number,
  options: Parameters<typeof startKeeperNodes>[2] = {},
): Promise<KeeperNodes> {
  const rig = await startKeeperNodes(gateway, count, options);
  rigs.push(rig);
  return rig;
}

async function makeBudget(amount: number): Promise<{ tenantId: string; budget: Budget }> {
  const [tenantId] = await insertTenants(gateway, 1);
  const [budgets] = await insertBudgets(gateway, [{ tenantId: tenantId!, caps: [organizationCap(amount)] }]);
  return { tenantId: tenantId!, budget: budgets![0]! };
}

/** Reserves until it is refused or has enough. */
async function take(
  keeper: LeaseKeeper,
  { tenantId, budget }: { tenantId: string; budget: Budget },
  count: number,
  atMs = Date.now(),
): Promise<Reservation[]> {
  const outcomes = await Promise.all(
    Array.from({ length: count }, () => keeper.reserve(tenantId, reservedIn([budget], atMs), PRICE)),
  );
  return outcomes.filter((outcome) => outcome.kind === 'reserved');
}

async function standing(budget: Budget): Promise<{ committed: number; leased: number }> {
  const [row] = await gateway.sql<{ committed: number; leased: number }>(
    `select coalesce((select sum(committed_microdollars) from budget_periods where budget_id = $1), 0)::int as committed,
            coalesce((select sum(amount_microdollars) from budget_leases where budget_id = $1), 0)::int as leased`,
    [budget.id],
  );
  return row!;
}

test('what one node holds and does not use is there for another before anybody is refused', async () => {
  const { nodes } = await start(3);
  const target = await makeBudget(100 * PRICE);
  // Every node takes a share that it does not need; the last money is spread over all of them.
  const held = [];
  for (const node of nodes) held.push(...(await take(node.keeper, target, 10)));
  expect(held).toHaveLength(30);
  const rest = await take(nodes[0]!.keeper, target, 70);
  expect(rest).toHaveLength(70);
  expect(await take(nodes[1]!.keeper, target, 1)).toEqual([]);
  for (const reservation of [...held, ...rest]) reservation.release();
  await eventually(async () => expect(await standing(target.budget)).toEqual({ committed: 0, leased: 0 }));
});

test('two nodes that are short at once share the rest: all of it is used and nothing more', async () => {
  const { nodes } = await start(2);
  for (let round = 0; round < 10; round += 1) {
    const target = await makeBudget(50 * PRICE);
    const [one, other] = await Promise.all([
      take(nodes[0]!.keeper, target, 40),
      take(nodes[1]!.keeper, target, 40),
    ]);
    expect(one.length + other.length).toBe(50);
    for (const reservation of [...one, ...other]) reservation.release();
  }
});

test('what a killed node held is usable again after its lease has run out, and the cap is not passed', async () => {
  const { nodes } = await start(3, { leaseMs: LEASE_MS });
  const target = await makeBudget(300 * PRICE);
  const [victim, ...others] = nodes;
  const inFlight = await take(victim!.keeper, target, 64);
  expect(inFlight).toHaveLength(64);
  await victim!.kill();
  const admitted: Reservation[] = [];
  await eventually(async () => {
    for (const { keeper } of others) admitted.push(...(await take(keeper, target, 50)));
    expect(admitted).toHaveLength(300);
  });
  for (const [index, reservation] of admitted.entries())
    await others[index % 2]!.finish(reservation, PRICE, { tenant_id: target.tenantId });
  await eventually(async () =>
    expect(await standing(target.budget)).toEqual({ committed: 300 * PRICE, leased: 0 }),
  );
});

test('a lease lost to others counts for nothing, and what was spent of it is taken off no other', async () => {
  const { nodes } = await start(1, { leaseMs: LEASE_MS });
  const node = nodes[0]!;
  const target = await makeBudget(100 * PRICE);
  const [early] = await take(node.keeper, target, 1);
  await gateway.sql('delete from budget_leases where budget_id = $1', [target.budget.id]);
  // More than it believes to hold: it asks, and hears that it holds nothing.
  const later = await take(node.keeper, target, 100);
  expect(later).toHaveLength(100);
  expect(later.at(-1)!.budgets[0]!.holderId).not.toBe(early!.budgets[0]!.holderId);
  const { leased } = await standing(target.budget);
  await node.finish(early!, PRICE, { tenant_id: target.tenantId });
  await eventually(async () => expect(await standing(target.budget)).toEqual({ committed: PRICE, leased }));
  for (const reservation of later) reservation.release();
});

test('answers that never come leave no money behind', async () => {
  const { hostname: host, port } = new URL(gateway.databaseUrl);
  const toxic = await startToxicProxy({ host, port: Number(port) });
  const { nodes } = await start(2, { databaseUrl: toxic.through(gateway.databaseUrl), leaseMs: LEASE_MS });
  const target = await makeBudget(1_000 * PRICE);
  let commits = 0;
  toxic.cutAfter((sent) => sent.includes('commit\0') && ++commits % 3 === 0);
  let settled = 0;
  for (let round = 0; round < 40; round += 1) {
    const reservations = await take(nodes[round % 2]!.keeper, target, 5);
    for (const reservation of reservations) {
      await nodes[round % 2]!.finish(reservation, PRICE - 3, { tenant_id: target.tenantId });
      settled += PRICE - 3;
    }
    // Given back and taken again, so that there is something to be lost in every round.
    nodes[round % 2]!.keeper.tenantChanged(target.tenantId);
  }
  toxic.cutAfter(null);
  expect(settled).toBeGreaterThan(0);
  expect(commits).toBeGreaterThan(40);
  await eventually(async () =>
    expect(await standing(target.budget)).toEqual({ committed: settled, leased: 0 }),
  );
  await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
  await toxic.close();
});

test('a row that no node knows of goes, one that is taken in that very moment stays', async () => {
  const { nodes } = await start(1, { leaseMs: 600 });
  const node = nodes[0]!;
  const held: Array<{ target: Awaited<ReturnType<typeof makeBudget>>; reservation: Reservation }> = [];
  const stray = await makeBudget(10 * PRICE);
  const [first] = await take(node.keeper, stray, 1);
  first!.release();
  await eventually(async () => expect((await standing(stray.budget)).leased).toBe(0));
  await gateway.sql(
    `insert into budget_leases (tenant_id, budget_id, period_start, node_id, amount_microdollars, expires_at)
     select tenant_id, budget_id, period_start, $2, 50, now() + interval '1 hour' from budget_periods where budget_id = $1`,
    [stray.budget.id, node.nodeId],
  );
  // Renewed every tenth of a second here, so that taking and renewing meet again and again.
  for (let n = 0; n < 60; n += 1) {
    const target = await makeBudget(10 * PRICE);
    const [reservation] = await take(node.keeper, target, 1);
    held.push({ target, reservation: reservation! });
  }
  await eventually(async () => expect((await standing(stray.budget)).leased).toBe(0));
  for (const { target } of held) expect((await standing(target.budget)).leased).toBeGreaterThanOrEqual(PRICE);
  for (const { reservation } of held) reservation.release();
});

test('a budget lowered while it is leased admits nothing more once it is passed', async () => {
  const { nodes } = await start(2);
  const target = await makeBudget(100 * PRICE);
  const held = await take(nodes[0]!.keeper, target, 20);
  await take(nodes[1]!.keeper, target, 1);
  await gateway.sql('update budgets set amount_microdollars = $2 where id = $1', [
    target.budget.id,
    22 * PRICE,
  ]);
  for (const { keeper } of nodes) keeper.tenantChanged(target.tenantId);
  expect(await take(nodes[1]!.keeper, target, 5)).toHaveLength(1);
  for (const reservation of held) reservation.release();
});

test('money taken under a grant cannot be used once the grant has ended', async () => {
  let nowMs = Date.UTC(2026, 4, 10, 12);
  const { nodes } = await start(2, { nowMs: () => nowMs });
  const target = await makeBudget(10 * PRICE);
  const endMs = nowMs + 3_600_000;
  await gateway.sql(
    `insert into budget_approvals (tenant_id, id, budget_id, status, extra_microdollars, approved_until)
     values ($1, gen_random_uuid(), $2, 'approved', $3, $4)`,
    [target.tenantId, target.budget.id, 90 * PRICE, new Date(endMs)],
  );
  const before = await take(nodes[0]!.keeper, target, 30, nowMs);
  expect(before).toHaveLength(30);
  // Both hold more than they use now.
  expect(await take(nodes[1]!.keeper, target, 1, nowMs)).toHaveLength(1);
  nowMs = endMs;
  for (const { keeper } of nodes) expect(await take(keeper, target, 1, nowMs)).toEqual([]);
  for (const reservation of before) reservation.release();
});

test('each period has its own money, and a request settles in the one it was admitted in', async () => {
  let nowMs = Date.UTC(2026, 0, 31, 23, 59, 59, 900);
  const { nodes } = await start(1, { nowMs: () => nowMs });
  const node = nodes[0]!;
  const target = await makeBudget(5 * PRICE);
  const inJanuary = await take(node.keeper, target, 10, nowMs);
  expect(inJanuary).toHaveLength(5);
  const admittedAt = new Date(nowMs).toISOString();
  nowMs += 1_000;
  const inFebruary = await take(node.keeper, target, 10, nowMs);
  expect(inFebruary).toHaveLength(5);
  for (const reservation of inJanuary)
    await node.finish(reservation, PRICE, { tenant_id: target.tenantId, created_at: admittedAt });
  await node.finish(inFebruary[0]!, PRICE, { tenant_id: target.tenantId });
  for (const reservation of inFebruary.slice(1)) reservation.release();
  await eventually(async () => {
    const rows = await gateway.sql(
      `select to_char(period_start at time zone 'UTC', 'YYYY-MM-DD') as start, committed_microdollars::int as committed
         from budget_periods where budget_id = $1 order by 1`,
      [target.budget.id],
    );
    expect(rows).toEqual([
      { start: '2026-01-01', committed: 5 * PRICE },
      { start: '2026-02-01', committed: PRICE },
    ]);
    expect((await standing(target.budget)).leased).toBe(0);
  });
});

describe('a holder counts as gone', () => {
  const watch = () => new LeaseWatch({ patienceMs: 36_000, maxGapMs: 10_000 });
  const holder = (beat: string) => [{ node_id: 'n', beat }];
  const lookUntil = (watched: LeaseWatch, fromMs: number, toMs: number, beatAt: (ms: number) => string) => {
    const gone: number[] = [];
    for (let ms = fromMs; ms <= toMs; ms += 5_000)
      if (watched.look(holder(beatAt(ms)), ms).length > 0) gone.push(ms);
    return gone;
  };

  test('when its sign of life has not changed for more than a lease', () => {
    expect(lookUntil(watch(), 0, 60_000, () => 'same')[0]).toBe(40_000);
  });

  test('never while it changes, whatever the clock of the database says', () => {
    expect(lookUntil(watch(), 0, 600_000, (ms) => `beat ${Math.floor(ms / 30_000)}`)).toEqual([]);
  });

  test('only by what was seen without a gap: after an outage it gets its chance to renew', () => {
    const watched = watch();
    lookUntil(watched, 0, 30_000, () => 'same');
    expect(lookUntil(watched, 90_000, 120_000, () => 'same')).toEqual([]);
  });
});
