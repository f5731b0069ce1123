import type { accountOperations } from '../../contract/account.ts';
import { isRefusal, type Refusal, refuse } from '../../contract/errors.ts';
import type { ResponseOf } from '../../contract/operation.ts';
import { hashPassword, verifyPassword } from '../adapters/passwords.ts';
import { CHAT_WEBHOOK_PURPOSE, maskChatHook, parseChatHook } from '../domain/chat-hooks.ts';
import { periodOf } from '../domain/period.ts';
import { recordAudit } from '../store/audit.ts';
import { leaveCostIndex } from '../store/cost-index.ts';
import type { Db } from '../store/database.ts';
import { addJob } from '../store/jobs.ts';
import { voidPasswordResets } from '../store/password-resets.ts';
import * as tenants from '../store/tenants.ts';
import { revokeToken } from '../store/tokens.ts';
import type { Handler, Handlers, TenantCaller } from './handler.ts';
import type { ApiParts } from './parts.ts';
import { endOfEarlierSessionsMs, openSession } from './session.ts';

type Operations = typeof accountOperations;
type Account = ResponseOf<Operations['getAccount']>;

export function accountApi(parts: ApiParts): Handlers<Operations> {
  return {
    getAccount: ({ caller: { tenantId } }) =>
      parts.database.asTenant(tenantId, (db) => readAccount(parts, db, tenantId)),
    updateAccount: updateAccount(parts),
    deleteAccount: deleteAccount(parts),
    setChatWebhook: async (call) => {
      const url = parseChatHook(call.body.webhook_url, parts.config.chatHookPrefix);
      if (url === null) {
        const prefix = parts.config.chatHookPrefix;
        return refuse('invalid_field', `The field "webhook_url" must be an address under ${prefix}.`);
      }
      const { tenantId } = call.caller;
      return parts.database.asTenant(tenantId, async (db) => {
        const dataKey = await tenants.findDataKey(db, tenantId);
        const sealed = parts.vault.seal(tenantId, dataKey, CHAT_WEBHOOK_PURPOSE, url);
        await tenants.setChatWebhook(db, tenantId, sealed);
        await recordAccountAudit(db, call, 'account.chat_webhook_set');
        return readAccount(parts, db, tenantId);
      });
    },
    removeChatWebhook: (call) =>
      parts.database.asTenant(call.caller.tenantId, async (db) => {
        const removed = await tenants.removeChatWebhook(db, call.caller.tenantId);
        if (removed) await recordAccountAudit(db, call, 'account.chat_webhook_removed');
        return undefined;
      }),
    setDataShare: (call) =>
      parts.database.asTenant(call.caller.tenantId, async (db) => {
        await tenants.setDataShare(db, call.caller.tenantId, call.body.enabled);
        if (!call.body.enabled) await leaveCostIndex(db, call.caller.tenantId, new Date(parts.nowMs()));
        await addJob(db, 'build_cost_index', {});
        await recordAccountAudit(db, call, 'account.data_share_set', { enabled: call.body.enabled });
        return readAccount(parts, db, call.caller.tenantId);
      }),
  };
}

function updateAccount(parts: ApiParts): Handler<Operations['updateAccount']> {
  return async ({ body, caller, ip }) => {
    const { tenantId } = caller;
    const profile = { name: body.name?.trim() ?? null, digestEnabled: body.digest_enabled ?? null };
    const password = await checkPasswordChange(parts, tenantId, body);
    if (isRefusal(password)) return password;
    const account = await parts.database.asTenant(tenantId, async (db) => {
      const changed = Object.entries({ name: profile.name, digest_enabled: profile.digestEnabled });
      const fields = changed.filter(([, value]) => value !== null).map(([field]) => field);
      if (fields.length > 0) {
        await tenants.updateTenantProfile(db, tenantId, profile);
        await recordAccountAudit(db, { caller, ip }, 'account.updated', { fields });
      }
      if (password) {
        if (!(await tenants.replacePassword(db, tenantId, password))) return refuse('invalid_credentials');
        // Whoever changes the password may do so because a mailbox was read.
        await voidPasswordResets(db, tenantId, parts.nowMs());
        await recordAccountAudit(db, { caller, ip }, 'account.password_changed');
      }
      return readAccount(parts, db, tenantId);
    });
    if (isRefusal(account) || !password) return account;
    return { ...account, ...(await openSession(parts, { tenantId, ...password })) };
  };
}

/** Null when no password change is asked for. */
async function checkPasswordChange(
  parts: ApiParts,
  tenantId: string,
  body: { current_password?: string; new_password?: string },
): Promise<{ checkedHash: string; newHash: string; tokensValidFromMs: number } | null | Refusal> {
  if (body.new_password === undefined) return null;
  if (!body.current_password) return refuse('current_password_required');
  const { password_hash: checkedHash } = await parts.database.asTenant(tenantId, (db) =>
    tenants.findCredentials(db, tenantId),
  );
  const verdict = await verifyPassword(checkedHash, body.current_password);
  if (verdict === 'busy') return refuse('unavailable');
  if (verdict === 'mismatch') return refuse('invalid_credentials', 'The current password is not right.');
  const hashed = await hashPassword(body.new_password);
  if (hashed === 'busy') return refuse('unavailable');
  return { checkedHash, newHash: hashed.hash, tokensValidFromMs: endOfEarlierSessionsMs(parts) };
}

function deleteAccount(parts: ApiParts): Handler<Operations['deleteAccount']> {
  return ({ caller, ip }) =>
    parts.changeTenant(caller.tenantId, async (db) => {
      await tenants.cancelTenant(db, caller.tenantId);
      await leaveCostIndex(db, caller.tenantId, new Date(parts.nowMs()));
      // The status refuses every token of a closed account; this one stays refused should it be opened again.
      await revokeToken(db, caller.tenantId, caller.tokenId, caller.tokenExpiresAtMs);
      await recordAccountAudit(db, { caller, ip }, 'account.cancelled');
      return readAccount(parts, db, caller.tenantId);
    });
}

function recordAccountAudit(
  db: Db,
  { caller, ip }: { caller: TenantCaller; ip: string },
  action: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  return recordAudit(db, {
    tenantId: caller.tenantId,
    actorType: 'user',
    actorId: caller.email,
    action,
    resourceType: 'tenant',
    resourceId: caller.tenantId,
    ip,
    details,
  });
}

async function readAccount(parts: ApiParts, db: Db, tenantId: string): Promise<Account> {
  const tenant = await tenants.findTenant(db, tenantId);
  const month = periodOf('month', parts.nowMs());
  const sealed = tenant.chat_webhook_sealed;
  return {
    tenant_id: tenant.tenant_id,
    name: tenant.name,
    email: tenant.email,
    plan_tier: tenant.plan_tier,
    status: tenant.status,
    created_at: tenant.created_at.toISOString(),
    updated_at: tenant.updated_at.toISOString(),
    digest_enabled: tenant.digest_enabled,
    data_share_enabled: tenant.data_share_enabled,
    chat_webhook_url:
      sealed &&
      maskChatHook(parts.vault.open(tenantId, tenant.data_key_wrapped, CHAT_WEBHOOK_PURPOSE, sealed)),
    subscription: {
      plan_tier: tenant.plan_tier,
      included_requests: tenant.included_requests,
      used_requests: await tenants.findMonthRequests(db, tenantId, month.startMs),
      status: tenant.status,
      current_period_start: new Date(month.startMs).toISOString(),
      current_period_end: new Date(month.endMs).toISOString(),
    },
  };
}
