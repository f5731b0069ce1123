import sql, { empty, join } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from './database.ts';

export interface AuditDraft {
  tenantId: string;
  actorType: 'user' | 'operator' | 'system';
  actorId: string | null;
  action: string;
  resourceType?: string;
  resourceId?: string;
  ip?: string | null;
  details?: Record<string, unknown>;
}

export interface AuditRow {
  id: string;
  tenant_id: string;
  actor_type: string;
  actor_id: string | null;
  action: string;
  resource_type: string | null;
  resource_id: string | null;
  ip_address: string | null;
  details: Record<string, unknown>;
  created_at: Date;
}

/** Written in the transaction of the change it records: neither exists without the other. */
export async function recordAudit(db: Db, draft: AuditDraft): Promise<void> {
  await db.query(sql`
    insert into audit_entries
      (tenant_id, id, actor_type, actor_id, action, resource_type, resource_id, ip_address, details)
    values
      (${draft.tenantId}, ${uuidv7()}, ${draft.actorType}, ${draft.actorId}, ${draft.action},
       ${draft.resourceType ?? null}, ${draft.resourceId ?? null}, ${draft.ip ?? null},
       ${JSON.stringify(draft.details ?? {})})`);
}

export interface AuditFilter {
  actorType?: string;
  action?: string;
  from?: Date;
  /** Exclusive. */
  until?: Date;
}

function matching(tenantId: string, filter: AuditFilter) {
  return sql`tenant_id = ${tenantId}
    ${filter.actorType === undefined ? empty : sql`and actor_type = ${filter.actorType}`}
    ${filter.action === undefined ? empty : sql`and action = ${filter.action}`}
    ${filter.from === undefined ? empty : sql`and id >= first_id_at(${filter.from})`}
    ${filter.until === undefined ? empty : sql`and id < first_id_at(${filter.until})`}`;
}

export async function listAudit(
  db: Db,
  tenantId: string,
  filter: AuditFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: AuditRow[]; total: number }> {
  const rows = await db.query<AuditRow>(sql`
    select * from audit_entries where ${matching(tenantId, filter)}
     order by id desc limit ${page.limit} offset ${page.offset}`);
  const counted = await db.query<{ total: number }>(sql`
    select count(*) as total from audit_entries where ${matching(tenantId, filter)}`);
  return { rows, total: counted[0]!.total };
}

/** The next entries before an id, for exports that read as the client takes them. */
export async function listAuditBefore(
  db: Db,
  tenantId: string,
  filter: AuditFilter,
  beforeId: string | null,
  limit: number,
): Promise<AuditRow[]> {
  const conditions = [matching(tenantId, filter)];
  if (beforeId !== null) conditions.push(sql`id < ${beforeId}`);
  return db.query<AuditRow>(sql`
    select * from audit_entries where ${join(conditions, ' and ')}
     order by id desc limit ${limit}`);
}
