import sql from 'sql-template-tag';
import type { Db } from './database.ts';

export interface TeamRow {
  id: string;
  name: string;
  slug: string;
  cost_center: string | null;
  created_at: Date;
}

const columns = sql`id, name, slug, cost_center, created_at`;

/** Call under the tenant's lock: the slug was chosen from those that were free then. */
export async function insertTeam(
  db: Db,
  tenantId: string,
  draft: { id: string; name: string; slug: string; costCenter: string | null },
): Promise<TeamRow> {
  const rows = await db.query<TeamRow>(sql`
    insert into teams (tenant_id, id, name, slug, cost_center)
    values (${tenantId}, ${draft.id}, ${draft.name}, ${draft.slug}, ${draft.costCenter})
    returning ${columns}`);
  return rows[0]!;
}

export async function listTeams(db: Db, tenantId: string): Promise<TeamRow[]> {
  return db.query<TeamRow>(sql`
    select ${columns} from teams where tenant_id = ${tenantId} and deleted_at is null order by id desc`);
}

export async function findTeam(db: Db, tenantId: string, id: string): Promise<TeamRow | null> {
  const rows = await db.query<TeamRow>(sql`
    select ${columns} from teams where tenant_id = ${tenantId} and id = ${id} and deleted_at is null`);
  return rows[0] ?? null;
}

export async function listTeamSlugs(db: Db, tenantId: string): Promise<string[]> {
  const rows = await db.query<{ slug: string }>(sql`
    select slug from teams where tenant_id = ${tenantId} and deleted_at is null`);
  return rows.map((row) => row.slug);
}

export async function updateTeam(
  db: Db,
  tenantId: string,
  team: { id: string; name: string; slug: string; costCenter: string | null },
): Promise<TeamRow> {
  const rows = await db.query<TeamRow>(sql`
    update teams set name = ${team.name}, slug = ${team.slug}, cost_center = ${team.costCenter}
     where tenant_id = ${tenantId} and id = ${team.id} and deleted_at is null
    returning ${columns}`);
  return rows[0]!;
}

export async function deleteTeam(db: Db, tenantId: string, id: string): Promise<TeamRow | null> {
  const rows = await db.query<TeamRow>(sql`
    update teams set deleted_at = now()
     where tenant_id = ${tenantId} and id = ${id} and deleted_at is null
    returning ${columns}`);
  return rows[0] ?? null;
}
