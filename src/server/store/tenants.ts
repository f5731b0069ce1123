import sql from 'sql-template-tag';
import type { Db } from './database.ts';

export interface TenantRow {
  tenant_id: string;
  name: string;
  email: string;
  plan_tier: string;
  status: string;
  included_requests: number;
  digest_enabled: boolean;
  data_share_enabled: boolean;
  chat_webhook_sealed: Buffer | null;
  data_key_wrapped: Buffer;
  created_at: Date;
  updated_at: Date;
}

export interface Credentials {
  tenant_id: string;
  email: string;
  plan_tier: string;
  status: string;
  password_hash: string;
  tokens_valid_from_ms: number;
}

const tokensValidFromMs = sql`
  coalesce(extract(epoch from nullif(tokens_valid_from, '-infinity')) * 1000, 0)::float8`;

/** False when the address has an account already. Of several at once, the unique index lets one through. */
export async function insertTenant(
  db: Db,
  draft: { tenantId: string; name: string; email: string; passwordHash: string; dataKeyWrapped: Buffer },
): Promise<{ plan_tier: string } | null> {
  const rows = await db.query<{ plan_tier: string }>(sql`
    insert into tenants (tenant_id, name, email, password_hash, data_key_wrapped)
    values (${draft.tenantId}, ${draft.name}, ${draft.email}, ${draft.passwordHash}, ${draft.dataKeyWrapped})
    on conflict (lower(email)) do nothing
    returning plan_tier`);
  return rows[0] ?? null;
}

/**
 * Lets one transaction at a time decide about a tenant's teams and keys (a free slug, a limit, a rotation).
 * "no key update" does not stop the rows that merely refer to the tenant.
 */
export async function lockTenant(db: Db, tenantId: string): Promise<void> {
  await db.query(sql`select from tenants where tenant_id = ${tenantId} for no key update`);
}

export async function findCredentialsByEmail(db: Db, email: string): Promise<Credentials | null> {
  // PostgreSQL refuses this character in any text, so no account can have it.
  if (email.includes('\0')) return null;
  const rows = await db.query<Credentials>(sql`
    select tenant_id, email, plan_tier, status, password_hash, ${tokensValidFromMs} as tokens_valid_from_ms
      from tenants where lower(email) = lower(${email})`);
  return rows[0] ?? null;
}

export async function findCredentials(db: Db, tenantId: string): Promise<Credentials> {
  const rows = await db.query<Credentials>(sql`
    select tenant_id, email, plan_tier, status, password_hash, ${tokensValidFromMs} as tokens_valid_from_ms
      from tenants where tenant_id = ${tenantId}`);
  return rows[0]!;
}

export async function findTenant(db: Db, tenantId: string): Promise<TenantRow> {
  const rows = await db.query<TenantRow>(sql`
    select tenant_id, name, email, plan_tier, status, included_requests, digest_enabled, data_share_enabled,
           chat_webhook_sealed, data_key_wrapped, created_at, updated_at
      from tenants where tenant_id = ${tenantId}`);
  return rows[0]!;
}

export async function findDataKey(db: Db, tenantId: string): Promise<Buffer> {
  const rows = await db.query<{ data_key_wrapped: Buffer }>(sql`
    select data_key_wrapped from tenants where tenant_id = ${tenantId}`);
  return rows[0]!.data_key_wrapped;
}

/** Calls of one calendar month that reached a provider. */
export async function findMonthRequests(db: Db, tenantId: string, monthStartMs: number): Promise<number> {
  const month = new Date(monthStartMs).toISOString().slice(0, 10);
  const rows = await db.query<{ requests: number }>(sql`
    select requests from usage_months where tenant_id = ${tenantId} and month = ${month}`);
  return rows[0]?.requests ?? 0;
}

/** Null leaves a column as it is. */
export async function updateTenantProfile(
  db: Db,
  tenantId: string,
  changes: { name: string | null; digestEnabled: boolean | null },
): Promise<void> {
  await db.query(sql`
    update tenants
       set name = coalesce(${changes.name}, name),
           digest_enabled = coalesce(${changes.digestEnabled}, digest_enabled),
           updated_at = now()
     where tenant_id = ${tenantId}`);
}

/**
 * Replaces the password and ends every token issued before `tokensValidFrom`. False when the password is no
 * longer the one that was checked: of two changes at once the second one proved knowledge of a password that
 * is gone.
 */
export async function replacePassword(
  db: Db,
  tenantId: string,
  change: { checkedHash: string; newHash: string; tokensValidFromMs: number },
): Promise<boolean> {
  const replaced = await db.query(sql`
    update tenants
       set password_hash = ${change.newHash}, tokens_valid_from = ${new Date(change.tokensValidFromMs)},
           updated_at = now()
     where tenant_id = ${tenantId} and password_hash = ${change.checkedHash} and status = 'active'
    returning true`);
  return replaced.length === 1;
}

/** For whoever proved ownership of the mailbox instead of the old password. False for a closed account. */
export async function resetPassword(
  db: Db,
  tenantId: string,
  change: { newHash: string; tokensValidFromMs: number },
): Promise<boolean> {
  const reset = await db.query(sql`
    update tenants
       set password_hash = ${change.newHash}, tokens_valid_from = ${new Date(change.tokensValidFromMs)},
           updated_at = now()
     where tenant_id = ${tenantId} and status = 'active'
    returning true`);
  return reset.length === 1;
}

export async function cancelTenant(db: Db, tenantId: string): Promise<void> {
  await db.query(
    sql`update tenants set status = 'cancelled', updated_at = now() where tenant_id = ${tenantId}`,
  );
}

export async function setChatWebhook(db: Db, tenantId: string, sealed: Buffer): Promise<void> {
  await db.query(sql`
    update tenants set chat_webhook_sealed = ${sealed}, updated_at = now() where tenant_id = ${tenantId}`);
}

/** False when there was none. */
export async function removeChatWebhook(db: Db, tenantId: string): Promise<boolean> {
  const removed = await db.query(sql`
    update tenants set chat_webhook_sealed = null, updated_at = now()
     where tenant_id = ${tenantId} and chat_webhook_sealed is not null
    returning tenant_id`);
  return removed.length > 0;
}

export async function setDataShare(db: Db, tenantId: string, enabled: boolean): Promise<void> {
  await db.query(sql`
    update tenants set data_share_enabled = ${enabled}, updated_at = now() where tenant_id = ${tenantId}`);
}
