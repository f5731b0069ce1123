import sql from 'sql-template-tag';
import type { Db } from './database.ts';

/** Tenants who want the digest, used the gateway in these days, and have not been sent that week's. */
export async function listTenantsForDigest(
  db: Db,
  days: { from: string; to: string },
  week: string,
): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(sql`
    select tenant_id
      from tenants
     where status = 'active' and digest_enabled
       and exists (
         select from usage_daily
          where usage_daily.tenant_id = tenants.tenant_id and day between ${days.from} and ${days.to})
       and not exists (
         select from digests where digests.tenant_id = tenants.tenant_id and digests.week = ${week})
     order by tenant_id`);
  return rows.map((row) => row.tenant_id);
}

/** False when another run has done it: of two at once the second waits for the first one's outcome. */
export async function insertDigest(db: Db, tenantId: string, week: string): Promise<boolean> {
  const rows = await db.query(sql`
    insert into digests (tenant_id, week) values (${tenantId}, ${week})
        on conflict do nothing
    returning tenant_id`);
  return rows.length === 1;
}
