import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import { type killSwitchesOperations, MAX_ACTIVE_KILL_SWITCHES } from '../../contract/kill-switches.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import { type KillScopeType, readKillScope } from '../domain/kill-switches.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import { emitEvent } from '../store/events.ts';
import * as store from '../store/kill-switches.ts';
import { findTeamByText } from '../store/team-directory.ts';
import { lockTenant } from '../store/tenants.ts';
import type { Handler, Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof killSwitchesOperations;
type KillSwitch = ResponseOf<Operations['activateKillSwitch']>;

/** History is kept for good, but the list is not paged. */
const MAX_INACTIVE_LISTED = 1_000;

export function killSwitchesApi(parts: ApiParts): Handlers<Operations> {
  return {
    activateKillSwitch: activateKillSwitch(parts),
    listKillSwitches: async ({ caller: { tenantId } }) => {
      const rows = await parts.database.asTenant(tenantId, (db) =>
        store.listKillSwitches(db, tenantId, MAX_INACTIVE_LISTED),
      );
      return rows.map(show);
    },
    deactivateKillSwitch: async ({ caller, params, ip }) => {
      const { id } = params;
      if (id === undefined || !isUuid(id)) return refuse('not_found');
      return parts.changeTenant(caller.tenantId, async (db) => {
        const by = { deactivatedBy: caller.email, at: new Date(parts.nowMs()) };
        const lifted = await store.deactivateKillSwitch(db, caller.tenantId, id, by);
        if (lifted) await recordKillAudit(db, { caller, ip }, 'kill_switch.deactivated', lifted);
        // Lifting twice is what a client does that did not hear the first answer.
        else if (!(await store.killSwitchExists(db, caller.tenantId, id))) return refuse('not_found');
        return undefined;
      });
    },
  };
}

function activateKillSwitch(parts: ApiParts): Handler<Operations['activateKillSwitch']> {
  return async ({ body, caller, ip }) => {
    const { tenantId } = caller;
    const scope = readKillScope(body.scope_type, body.scope_value);
    if (isRefusal(scope)) return scope;
    return parts.changeTenant(tenantId, async (db) => {
      await lockTenant(db, tenantId);
      if ((await store.countActiveKillSwitches(db, tenantId)) >= MAX_ACTIVE_KILL_SWITCHES) {
        return refuse(
          'limit_exceeded',
          `An account has at most ${MAX_ACTIVE_KILL_SWITCHES} active kill switches; lift one first.`,
        );
      }
      const target = await findTarget(db, tenantId, scope);
      if (isRefusal(target)) return target;
      const row = await store.insertKillSwitch(db, tenantId, {
        id: uuidv7(),
        ...scope,
        teamId: target.teamId,
        reason: body.reason?.trim() || null,
        activatedBy: caller.email,
        at: new Date(parts.nowMs()),
      });
      const shown = show(row);
      await recordKillAudit(db, { caller, ip }, 'kill_switch.activated', row);
      await emitEvent(db, { tenantId, type: 'alert.kill_switch', data: shown });
      return shown;
    });
  };
}

/** A switch that can stop nothing because of a slip of the pen would be a false comfort. */
async function findTarget(
  db: Db,
  tenantId: string,
  scope: { scopeType: KillScopeType; scopeValue: string },
): Promise<{ teamId: string | null } | Refusal> {
  if (scope.scopeType === 'team') {
    const team = await findTeamByText(db, tenantId, scope.scopeValue);
    return team ? { teamId: team.id } : refuseUnknown('the id, slug or name of one of your teams');
  }
  if (scope.scopeType === 'api_key' && !(await store.isKeyKnown(db, tenantId, scope.scopeValue)))
    return refuseUnknown('the id or the 13-character prefix of one of your keys');
  return { teamId: null };
}

function refuseUnknown(expected: string): Refusal {
  return refuse('invalid_field', `The field "scope_value" is not valid: it must be ${expected}.`);
}

function recordKillAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  kill: store.KillSwitchRow,
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'kill_switch',
    resourceId: kill.id,
    ip,
    details: { scope_type: kill.scope_type, scope_value: kill.scope_value, reason: kill.reason },
  });
}

function show(row: store.KillSwitchRow): KillSwitch {
  return {
    ...row,
    activated_at: row.activated_at.toISOString(),
    deactivated_at: row.deactivated_at?.toISOString() ?? null,
  };
}
