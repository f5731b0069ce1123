import { randomBytes } from 'node:crypto';
import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import type { apiKeysOperations } from '../../contract/api-keys.ts';
import { refuse } from '../../contract/errors.ts';
import { API_KEY_RANDOM_BYTES, makeApiKey, parseApiKey } from '../domain/api-keys.ts';
import * as store from '../store/api-keys.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import { findTeam } from '../store/teams.ts';
import { lockTenant } from '../store/tenants.ts';
import type { Handler, Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof apiKeysOperations;

/** Every node holds a tenant's keys in memory, and the list is not paged. */
const MAX_ACTIVE_KEYS = 1000;
const MAX_REVOKED_LISTED = 1000;

export function apiKeysApi(parts: ApiParts): Handlers<Operations> {
  return {
    createApiKey: createApiKey(parts),
    listApiKeys: async ({ caller: { tenantId } }) => {
      const rows = await parts.database.asTenant(tenantId, (db) =>
        store.listApiKeys(db, tenantId, MAX_REVOKED_LISTED),
      );
      return rows.map((row) => ({
        ...row,
        last_used_at: row.last_used_at?.toISOString() ?? null,
        revoked_at: row.revoked_at?.toISOString() ?? null,
        created_at: row.created_at.toISOString(),
      }));
    },
    revokeApiKey: async ({ caller, params, ip }) => {
      const { id } = params;
      if (id === undefined || !isUuid(id)) return refuse('not_found');
      return parts.changeTenant(caller.tenantId, async (db) => {
        const revoked = await store.revokeApiKey(db, caller.tenantId, id);
        if (revoked) await recordKeyAudit(db, { caller, ip }, 'api_key.revoked', revoked);
        // Revoking twice is what a client does that did not hear the first answer.
        else if (!(await store.apiKeyExists(db, caller.tenantId, id))) return refuse('not_found');
        return undefined;
      });
    },
  };
}

function createApiKey(parts: ApiParts): Handler<Operations['createApiKey']> {
  return ({ body, caller, ip }) => {
    const environment = body.environment ?? 'production';
    const key = makeApiKey(environment, randomBytes(API_KEY_RANDOM_BYTES));
    const { prefix, hash } = parseApiKey(key)!;
    return parts.changeTenant(caller.tenantId, async (db) => {
      await lockTenant(db, caller.tenantId);
      const teamId = body.team_id ?? null;
      if (teamId !== null && !(isUuid(teamId) && (await findTeam(db, caller.tenantId, teamId)))) {
        return refuse(
          'invalid_field',
          'The field "team_id" is not valid: it must be the id of one of your teams.',
        );
      }
      if ((await store.countActiveApiKeys(db, caller.tenantId)) >= MAX_ACTIVE_KEYS) {
        return refuse(
          'limit_exceeded',
          `An account has at most ${MAX_ACTIVE_KEYS} keys that are not revoked.`,
        );
      }
      const row = await store.insertApiKey(db, caller.tenantId, {
        id: uuidv7(),
        name: body.name.trim(),
        environment,
        prefix,
        keyHash: hash,
        teamId,
        serviceName: body.service_name?.trim() ?? null,
      });
      await recordKeyAudit(db, { caller, ip }, 'api_key.created', row);
      return {
        id: row.id,
        key,
        prefix: row.key_prefix,
        name: row.name,
        environment: row.environment,
        team_id: row.team_id,
        service_name: row.service_name,
        created_at: row.created_at.toISOString(),
      };
    });
  };
}

function recordKeyAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  row: store.ApiKeyRow,
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'api_key',
    resourceId: row.id,
    ip,
    details: {
      name: row.name,
      key_prefix: row.key_prefix,
      environment: row.environment,
      team_id: row.team_id,
      service_name: row.service_name,
    },
  });
}
