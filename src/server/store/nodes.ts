import sql from 'sql-template-tag';
import type { Db } from './database.ts';

export interface KnownNode {
  node_id: string;
  role: string;
  last_seen_at_ms: number;
}

/** Says that this node is alive, forgets those that have not said so for an hour, and lists the rest. */
export async function reportNode(
  db: Db,
  node: { nodeId: string; role: string; startedAt: Date },
): Promise<KnownNode[]> {
  await db.query(sql`
    insert into nodes (node_id, role, started_at, last_seen_at)
    values (${node.nodeId}, ${node.role}, ${node.startedAt}, clock_timestamp())
        on conflict (node_id) do update set last_seen_at = excluded.last_seen_at`);
  await db.query(sql`delete from nodes where last_seen_at < clock_timestamp() - interval '1 hour'`);
  return db.query<KnownNode>(sql`
    select node_id, role, (extract(epoch from last_seen_at) * 1000)::bigint as last_seen_at_ms
      from nodes order by node_id`);
}

export async function removeNode(db: Db, nodeId: string): Promise<void> {
  await db.query(sql`delete from nodes where node_id = ${nodeId}`);
}
