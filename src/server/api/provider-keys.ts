import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import { refuse } from '../../contract/errors.ts';
import type { providerKeysOperations } from '../../contract/provider-keys.ts';
import { recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import * as store from '../store/provider-keys.ts';
import { findDataKey, lockTenant } from '../store/tenants.ts';
import type { Handler, Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';

type Operations = typeof providerKeysOperations;

export function providerKeysApi(parts: ApiParts): Handlers<Operations> {
  return {
    storeProviderKey: storeProviderKey(parts),
    listProviderKeys: async ({ caller: { tenantId } }) => {
      const rows = await parts.database.asTenant(tenantId, (db) => store.listProviderKeys(db, tenantId));
      return rows.map((row) => ({
        ...row,
        last_rotated_at: row.last_rotated_at?.toISOString() ?? null,
        created_at: row.created_at.toISOString(),
      }));
    },
    revokeProviderKey: async ({ caller, params, ip }) => {
      const { id } = params;
      if (id === undefined || !isUuid(id)) return refuse('not_found');
      return parts.changeTenant(caller.tenantId, async (db) => {
        const revoked = await store.revokeProviderKey(db, caller.tenantId, id);
        if (!revoked) return refuse('not_found');
        await recordKeyAudit(db, { caller, ip }, 'provider_key.revoked', revoked);
        return undefined;
      });
    },
  };
}

/** Sealed for its own row: a ciphertext copied to another row or tenant does not open there. */
function storeProviderKey(parts: ApiParts): Handler<Operations['storeProviderKey']> {
  return ({ body, caller, ip }) =>
    parts.changeTenant(caller.tenantId, async (db) => {
      const { tenantId } = caller;
      await lockTenant(db, tenantId);
      const dataKey = await findDataKey(db, tenantId);
      const seal = (id: string) => parts.vault.seal(tenantId, dataKey, `provider_key:${id}`, body.key);
      const present = await store.findProviderKey(db, tenantId, body.provider);
      const id = present?.id ?? uuidv7();
      const row = present
        ? await store.rotateProviderKey(db, tenantId, id, seal(id))
        : await store.insertProviderKey(db, tenantId, { id, provider: body.provider, keySealed: seal(id) });
      const action = present ? 'provider_key.rotated' : 'provider_key.stored';
      await recordKeyAudit(db, { caller, ip }, action, row);
      return { id: row.id, provider: row.provider, key_version: row.key_version };
    });
}

function recordKeyAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  row: store.ProviderKeyRow,
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'provider_key',
    resourceId: row.id,
    ip,
    details: { provider: row.provider, key_version: row.key_version },
  });
}
