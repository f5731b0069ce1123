import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { Budget } from '../../src/server/domain/budgets.ts';
import { periodOf } from '../../src/server/domain/period.ts';
import type { RequestRecord } from '../../src/server/domain/request-record.ts';
import { LeaseKeeper } from '../../src/server/proxy/lease-keeper.ts';
import type { Reservation } from '../../src/server/proxy/reservation.ts';
import { type Database, openDatabase } from '../../src/server/store/database.ts';
import { RECALL_CHANNEL, type Recall } from '../../src/server/store/leases.ts';
import { makeRecord, startCarrying } from '../faults/carrying.ts';
import { SILENT } from '../faults/disks.ts';
import type { Gateway } from '../harness.ts';

/** What of a node decides about money: its leases, its journal, and the way into the database. */
export interface KeeperNode {
  nodeId: string;
  keeper: LeaseKeeper;
  /** A request that was let through and cost this much: settled, journaled, carried on. */
  finish(reservation: Reservation, cost: number, facts: Partial<RequestRecord>): Promise<void>;
  /** Hears no recalls and renews nothing any more, as if killed. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface KeeperNodes {
  nodes: KeeperNode[];
  database: Database;
  stop(): Promise<void>;
}

export async function startKeeperNodes(
  gateway: Gateway,
  count: number,
  options: { leaseMs?: number; nowMs?: () => number; databaseUrl?: string } = {},
): Promise<KeeperNodes> {
  const url = options.databaseUrl ?? gateway.databaseUrl;
  const open = (connections: number) =>
    openDatabase({
      url,
      name: 'test-leases',
      connections,
      onIdleError: () => {},
      statementTimeoutMs: 10_000,
    });
  const nowMs = options.nowMs ?? Date.now;
  const nodes = Array.from({ length: count }, () => startKeeperNode(gateway, open(3), { ...options, nowMs }));
  const listener = new pg.Client({ connectionString: gateway.databaseUrl });
  listener.on('error', () => {});
  await listener.connect();
  listener.on('notification', ({ payload }) => {
    for (const node of nodes) node.hear(JSON.parse(payload!) as Recall);
  });
  await listener.query(`listen ${RECALL_CHANNEL}`);
  const database = open(2);
  const stop = async () => {
    for (const node of nodes) await node.stop();
    await listener.end();
    await database.close();
  };
  return { nodes, database, stop };
}

function startKeeperNode(
  gateway: Gateway,
  database: Database,
  options: { leaseMs?: number; nowMs: () => number },
): KeeperNode & { hear(recall: Recall): void } {
  const nodeId = uuidv7();
  const { leaseMs, nowMs } = options;
  const keeper = new LeaseKeeper({ database, nodeId, nowMs, log: SILENT, ...(leaseMs && { leaseMs }) });
  const carrying = startCarrying(gateway, { onSpent: (spent) => keeper.committed(spent) });
  keeper.start();
  let isAlive = true;
  const end = async (gracefully: boolean) => {
    if (!isAlive) return;
    isAlive = false;
    await carrying.stop();
    if (gracefully) await keeper.stop();
    else keeper.halt();
    await database.close();
  };
  return {
    nodeId,
    keeper,
    hear: (recall) => {
      if (isAlive) keeper.recalled(recall);
    },
    async finish(reservation, cost, facts) {
      reservation.settle(cost);
      const reservations = reservation.budgets.map(({ id, periodStartMs, holderId }) => ({
        budget_id: id,
        period_start: new Date(periodStartMs).toISOString(),
        holder_id: holderId,
      }));
      const created_at = new Date(nowMs()).toISOString();
      await carrying.journal.end(
        ...makeRecord(facts.tenant_id!, { created_at, ...facts, cost_microdollars: cost, reservations }),
      );
    },
    kill: () => end(false),
    stop: () => end(true),
  };
}

/** A tenant without any of the things that people have. */
export async function insertTenants(gateway: Gateway, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  await gateway.sql(
    `insert into tenants (tenant_id, name, email, password_hash, data_key_wrapped)
     select id, 'Acme', id || '@example.com', '', '' from unnest($1::uuid[]) as id`,
    [ids],
  );
  return ids;
}

export type Cap = Omit<Budget, 'id' | 'mode'> & Partial<Pick<Budget, 'mode'>>;

/** For each tenant its own, in the order in which they are locked. */
export async function insertBudgets(
  gateway: Gateway,
  wanted: ReadonlyArray<{ tenantId: string; caps: readonly Cap[] }>,
): Promise<Budget[][]> {
  const made = wanted.map(({ tenantId, caps }) =>
    caps.map((cap) => ({ mode: 'hard' as const, ...cap, tenantId, id: uuidv7() })),
  );
  await gateway.sql(
    `insert into budgets (tenant_id, id, scope_type, scope_id, agent_name, amount_microdollars, period, mode)
     select "tenantId", id, "scopeType", "scopeId", "agentName", "amountMicrodollars", period, mode
       from json_to_recordset($1) as budget ("tenantId" uuid, id uuid, "scopeType" text, "scopeId" text,
              "agentName" text, "amountMicrodollars" bigint, period text, mode text)`,
    [JSON.stringify(made.flat())],
  );
  return made;
}

export const organizationCap = (amountMicrodollars: number): Cap => ({
  scopeType: 'organization',
  scopeId: null,
  agentName: null,
  amountMicrodollars,
  period: 'month',
});

export function reservedIn(budgets: readonly Budget[], atMs: number) {
  return budgets.map((budget) => ({ id: budget.id, periodStartMs: periodOf(budget.period, atMs).startMs }));
}

export const someTeamId = (): string => randomUUID();
