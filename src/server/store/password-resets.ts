import sql from 'sql-template-tag';
import type { Db } from './database.ts';

export interface PasswordReset {
  tenant_id: string;
  expires_at: Date;
  used_at: Date | null;
}

export async function insertPasswordReset(
  db: Db,
  draft: { tenantId: string; tokenHash: Buffer; createdAtMs: number; expiresAtMs: number },
): Promise<void> {
  await db.query(sql`
    insert into password_resets (tenant_id, token_hash, created_at, expires_at)
    values (${draft.tenantId}, ${draft.tokenHash}, ${new Date(draft.createdAtMs)}, ${new Date(draft.expiresAtMs)})`);
}

export async function countPasswordResetsSince(db: Db, tenantId: string, sinceMs: number): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) from password_resets
     where tenant_id = ${tenantId} and created_at > ${new Date(sinceMs)}`);
  return rows[0]!.count;
}

export async function findPasswordReset(db: Db, tokenHash: Buffer): Promise<PasswordReset | null> {
  const rows = await db.query<PasswordReset>(sql`
    select tenant_id, expires_at, used_at from password_resets where token_hash = ${tokenHash}`);
  return rows[0] ?? null;
}

/** True for exactly one caller: the row's lock makes the others see it used. */
export async function redeemPasswordReset(
  db: Db,
  tenantId: string,
  tokenHash: Buffer,
  nowMs: number,
): Promise<boolean> {
  const used = await db.query(sql`
    update password_resets set used_at = ${new Date(nowMs)}
     where tenant_id = ${tenantId} and token_hash = ${tokenHash}
       and used_at is null and expires_at > ${new Date(nowMs)}
    returning true`);
  return used.length === 1;
}

export async function voidPasswordResets(db: Db, tenantId: string, nowMs: number): Promise<void> {
  await db.query(sql`
    update password_resets set used_at = ${new Date(nowMs)}
     where tenant_id = ${tenantId} and used_at is null`);
}

/** Kept a week, so that an old link still says it has expired; then the same link is just unknown. */
export async function deleteOldPasswordResets(db: Db): Promise<void> {
  await db.query(sql`delete from password_resets where expires_at < now() - interval '7 days'`);
}
