import sql from 'sql-template-tag';
import type { Db } from './database.ts';

export interface TokenStanding {
  email: string;
  status: string;
  tokens_valid_from_ms: number;
  revoked: boolean;
}

/** Everything that can end a token before its time, in one look. */
export async function findTokenStanding(
  db: Db,
  tenantId: string,
  tokenId: string,
): Promise<TokenStanding | null> {
  const rows = await db.query<TokenStanding>(sql`
    select email, status,
           coalesce(extract(epoch from nullif(tokens_valid_from, '-infinity')) * 1000, 0)::float8 as tokens_valid_from_ms,
           exists (select from revoked_tokens where tenant_id = ${tenantId} and jti = ${tokenId}) as revoked
      from tenants
     where tenant_id = ${tenantId}`);
  return rows[0] ?? null;
}

export async function revokeToken(
  db: Db,
  tenantId: string,
  tokenId: string,
  expiresAtMs: number,
): Promise<void> {
  await db.query(sql`
    insert into revoked_tokens (tenant_id, jti, expires_at)
    values (${tenantId}, ${tokenId}, ${new Date(expiresAtMs)})
    on conflict do nothing`);
}

/** Expired tokens are refused by their date; their revocations need not be kept. */
export async function deleteExpiredRevocations(db: Db): Promise<void> {
  await db.query(sql`delete from revoked_tokens where expires_at < now() - interval '1 day'`);
}
