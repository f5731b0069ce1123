import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import { refuse } from '../../contract/errors.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import type { teamsOperations } from '../../contract/teams.ts';
import { chooseFreeSlug, deriveSlug } from '../domain/teams.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import * as store from '../store/teams.ts';
import { lockTenant } from '../store/tenants.ts';
import type { Handler, Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof teamsOperations;
type Team = ResponseOf<Operations['getTeam']>;

/** The list is not paged, so it must stay a list that can be read at once. */
const MAX_TEAMS = 1000;

export function teamsApi(parts: ApiParts): Handlers<Operations> {
  return {
    createTeam: createTeam(parts),
    listTeams: async ({ caller: { tenantId } }) => {
      const rows = await parts.database.asTenant(tenantId, (db) => store.listTeams(db, tenantId));
      return rows.map(show);
    },
    getTeam: ({ caller: { tenantId }, params }) =>
      parts.database.asTenant(tenantId, async (db) => {
        const team = await findByParam(db, tenantId, params.id);
        return team ? show(team) : refuse('not_found');
      }),
    updateTeam: updateTeam(parts),
    deleteTeam: ({ caller, params, ip }) =>
      parts.changeTenant(caller.tenantId, async (db) => {
        await lockTenant(db, caller.tenantId);
        const team = await findByParam(db, caller.tenantId, params.id);
        if (!team) return refuse('not_found');
        await store.deleteTeam(db, caller.tenantId, team.id);
        await recordTeamAudit(db, { caller, ip }, 'team.deleted', team);
        return undefined;
      }),
  };
}

function createTeam(parts: ApiParts): Handler<Operations['createTeam']> {
  return ({ body, caller, ip }) =>
    parts.changeTenant(caller.tenantId, async (db) => {
      await lockTenant(db, caller.tenantId);
      const taken = new Set(await store.listTeamSlugs(db, caller.tenantId));
      if (taken.size >= MAX_TEAMS)
        return refuse('limit_exceeded', `An account has at most ${MAX_TEAMS} teams.`);
      if (body.slug !== undefined && taken.has(body.slug)) return refuseTakenSlug(body.slug);
      const name = body.name.trim();
      const team = await store.insertTeam(db, caller.tenantId, {
        id: uuidv7(),
        name,
        slug: body.slug ?? chooseFreeSlug(deriveSlug(name), taken),
        costCenter: body.cost_center?.trim() ?? null,
      });
      await recordTeamAudit(db, { caller, ip }, 'team.created', team);
      return show(team);
    });
}

function updateTeam(parts: ApiParts): Handler<Operations['updateTeam']> {
  return ({ body, caller, params, ip }) =>
    parts.changeTenant(caller.tenantId, async (db) => {
      await lockTenant(db, caller.tenantId);
      const team = await findByParam(db, caller.tenantId, params.id);
      if (!team) return refuse('not_found');
      const slug = body.slug ?? team.slug;
      if (slug !== team.slug && (await store.listTeamSlugs(db, caller.tenantId)).includes(slug)) {
        return refuseTakenSlug(slug);
      }
      const updated = await store.updateTeam(db, caller.tenantId, {
        id: team.id,
        name: body.name?.trim() ?? team.name,
        slug,
        costCenter: body.cost_center === undefined ? team.cost_center : (body.cost_center?.trim() ?? null),
      });
      await recordTeamAudit(db, { caller, ip }, 'team.updated', updated);
      return show(updated);
    });
}

function refuseTakenSlug(slug: string) {
  return refuse('conflict', `Another team has the slug "${slug}".`);
}

async function findByParam(db: Db, tenantId: string, id: string | undefined): Promise<store.TeamRow | null> {
  return id !== undefined && isUuid(id) ? store.findTeam(db, tenantId, id) : null;
}

function recordTeamAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  team: store.TeamRow,
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'team',
    resourceId: team.id,
    ip,
    details: { name: team.name, slug: team.slug, cost_center: team.cost_center },
  });
}

function show(team: store.TeamRow): Team {
  return { ...team, created_at: team.created_at.toISOString() };
}
