import sql from 'sql-template-tag';
import type { KillScopeType } from '../domain/kill-switches.ts';
import type { Db } from './database.ts';

export interface KillSwitchRow {
  id: string;
  scope_type: KillScopeType;
  scope_value: string;
  team_id: string | null;
  reason: string | null;
  activated_by: string;
  activated_at: Date;
  deactivated_at: Date | null;
}

const columns = sql`
  id, scope_type, scope_value, team_id, reason, activated_by, activated_at, deactivated_at`;

export async function countActiveKillSwitches(db: Db, tenantId: string): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) from kill_switches where tenant_id = ${tenantId} and deactivated_at is null`);
  return rows[0]!.count;
}

/** Call under the tenant's lock: how many are active was counted before. */
export async function insertKillSwitch(
  db: Db,
  tenantId: string,
  draft: {
    id: string;
    scopeType: KillScopeType;
    scopeValue: string;
    teamId: string | null;
    reason: string | null;
    activatedBy: string;
    at: Date;
  },
): Promise<KillSwitchRow> {
  const rows = await db.query<KillSwitchRow>(sql`
    insert into kill_switches
      (tenant_id, id, scope_type, scope_value, team_id, reason, activated_by, activated_at)
    values (${tenantId}, ${draft.id}, ${draft.scopeType}, ${draft.scopeValue}, ${draft.teamId}, ${draft.reason},
            ${draft.activatedBy}, ${draft.at})
    returning ${columns}`);
  return rows[0]!;
}

/** All that are active, then the newest of those lifted. */
export async function listKillSwitches(
  db: Db,
  tenantId: string,
  maxInactive: number,
): Promise<KillSwitchRow[]> {
  return db.query<KillSwitchRow>(sql`
    select * from (
      (select ${columns} from kill_switches where tenant_id = ${tenantId} and deactivated_at is null)
      union all
      (select ${columns} from kill_switches where tenant_id = ${tenantId} and deactivated_at is not null
        order by id desc limit ${maxInactive})) listed
     order by deactivated_at is not null, id desc`);
}

/** Null when there is no such switch, or it was lifted before. */
export async function deactivateKillSwitch(
  db: Db,
  tenantId: string,
  id: string,
  by: { deactivatedBy: string; at: Date },
): Promise<KillSwitchRow | null> {
  const rows = await db.query<KillSwitchRow>(sql`
    update kill_switches set deactivated_at = ${by.at}, deactivated_by = ${by.deactivatedBy}
     where tenant_id = ${tenantId} and id = ${id} and deactivated_at is null
    returning ${columns}`);
  return rows[0] ?? null;
}

export async function killSwitchExists(db: Db, tenantId: string, id: string): Promise<boolean> {
  const rows = await db.query(sql`select from kill_switches where tenant_id = ${tenantId} and id = ${id}`);
  return rows.length === 1;
}

/** Whether any key of the tenant, revoked or not, has this id or prefix. */
export async function isKeyKnown(db: Db, tenantId: string, idOrPrefix: string): Promise<boolean> {
  const rows = await db.query<{ known: boolean }>(sql`
    select exists (
      select from api_keys
       where tenant_id = ${tenantId} and (id::text = ${idOrPrefix} or prefix = ${idOrPrefix})) as known`);
  return rows[0]!.known;
}
