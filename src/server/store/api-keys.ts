import sql from 'sql-template-tag';
import type { Db } from './database.ts';

export interface ApiKeyRow {
  id: string;
  name: string;
  key_prefix: string;
  environment: 'production' | 'test';
  team_id: string | null;
  service_name: string | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
  created_at: Date;
}

const columns = sql`
  id, name, prefix as key_prefix, environment, team_id, service_name, last_used_at, revoked_at, created_at`;

export async function countActiveApiKeys(db: Db, tenantId: string): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) from api_keys where tenant_id = ${tenantId} and revoked_at is null`);
  return rows[0]!.count;
}

export async function insertApiKey(
  db: Db,
  tenantId: string,
  draft: {
    id: string;
    name: string;
    environment: 'production' | 'test';
    prefix: string;
    keyHash: Buffer;
    teamId: string | null;
    serviceName: string | null;
  },
): Promise<ApiKeyRow> {
  const rows = await db.query<ApiKeyRow>(sql`
    insert into api_keys (tenant_id, id, name, environment, prefix, key_hash, team_id, service_name)
    values (${tenantId}, ${draft.id}, ${draft.name}, ${draft.environment}, ${draft.prefix}, ${draft.keyHash},
            ${draft.teamId}, ${draft.serviceName})
    returning ${columns}`);
  return rows[0]!;
}

/** All that work, and the newest of the revoked ones. */
export async function listApiKeys(db: Db, tenantId: string, maxRevoked: number): Promise<ApiKeyRow[]> {
  return db.query<ApiKeyRow>(sql`
    (select ${columns} from api_keys where tenant_id = ${tenantId} and revoked_at is null)
    union all
    (select ${columns} from api_keys where tenant_id = ${tenantId} and revoked_at is not null
      order by id desc limit ${maxRevoked})
    order by id desc`);
}

/** Null when there is no such key, or it was revoked before. */
export async function revokeApiKey(db: Db, tenantId: string, id: string): Promise<ApiKeyRow | null> {
  const rows = await db.query<ApiKeyRow>(sql`
    update api_keys set revoked_at = now()
     where tenant_id = ${tenantId} and id = ${id} and revoked_at is null
    returning ${columns}`);
  return rows[0] ?? null;
}

export async function apiKeyExists(db: Db, tenantId: string, id: string): Promise<boolean> {
  const rows = await db.query(sql`select from api_keys where tenant_id = ${tenantId} and id = ${id}`);
  return rows.length === 1;
}
