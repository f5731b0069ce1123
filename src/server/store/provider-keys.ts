import sql from 'sql-template-tag';
import type { Provider } from '../../contract/providers.ts';
import type { Db } from './database.ts';

export interface ProviderKeyRow {
  id: string;
  provider: Provider;
  key_version: number;
  last_rotated_at: Date | null;
  created_at: Date;
}

const columns = sql`id, provider, key_version, last_rotated_at, created_at`;

export async function findProviderKey(
  db: Db,
  tenantId: string,
  provider: Provider,
): Promise<ProviderKeyRow | null> {
  const rows = await db.query<ProviderKeyRow>(sql`
    select ${columns} from provider_keys
     where tenant_id = ${tenantId} and provider = ${provider} and revoked_at is null`);
  return rows[0] ?? null;
}

export async function insertProviderKey(
  db: Db,
  tenantId: string,
  draft: { id: string; provider: Provider; keySealed: Buffer },
): Promise<ProviderKeyRow> {
  const rows = await db.query<ProviderKeyRow>(sql`
    insert into provider_keys (tenant_id, id, provider, key_sealed)
    values (${tenantId}, ${draft.id}, ${draft.provider}, ${draft.keySealed})
    returning ${columns}`);
  return rows[0]!;
}

export async function rotateProviderKey(
  db: Db,
  tenantId: string,
  id: string,
  keySealed: Buffer,
): Promise<ProviderKeyRow> {
  const rows = await db.query<ProviderKeyRow>(sql`
    update provider_keys
       set key_sealed = ${keySealed}, key_version = key_version + 1, last_rotated_at = now()
     where tenant_id = ${tenantId} and id = ${id}
    returning ${columns}`);
  return rows[0]!;
}

export async function listProviderKeys(db: Db, tenantId: string): Promise<ProviderKeyRow[]> {
  return db.query<ProviderKeyRow>(sql`
    select ${columns} from provider_keys
     where tenant_id = ${tenantId} and revoked_at is null order by id desc`);
}

/** The row stays for the record; the sealed key does not: nobody needs it any more. */
export async function revokeProviderKey(
  db: Db,
  tenantId: string,
  id: string,
): Promise<ProviderKeyRow | null> {
  const rows = await db.query<ProviderKeyRow>(sql`
    update provider_keys set revoked_at = now(), key_sealed = ''
     where tenant_id = ${tenantId} and id = ${id} and revoked_at is null
    returning ${columns}`);
  return rows[0] ?? null;
}
