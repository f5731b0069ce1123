import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { authOperations } from '../../contract/auth.ts';
import { isRefusal, refuse } from '../../contract/errors.ts';
import { hashPassword, verifyPassword } from '../adapters/passwords.ts';
import { recordAudit } from '../store/audit.ts';
import { addSealedJob } from '../store/jobs.ts';
import { recordFailedLogin } from '../store/logins.ts';
import { findPasswordReset, redeemPasswordReset, voidPasswordResets } from '../store/password-resets.ts';
import { findCredentials, findCredentialsByEmail, insertTenant, resetPassword } from '../store/tenants.ts';
import { revokeToken } from '../store/tokens.ts';
import type { Handler, Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';
import { endOfEarlierSessionsMs, openSession } from './session.ts';

type Operations = typeof authOperations;

export function authApi(parts: ApiParts): Handlers<Operations> {
  return {
    signup: signup(parts),
    login: login(parts),
    refreshToken: async ({ caller }) => {
      const { tenantId } = caller;
      const tenant = await parts.database.asTenant(tenantId, (db) => findCredentials(db, tenantId));
      return openSession(parts, { tenantId, tokensValidFromMs: tenant.tokens_valid_from_ms });
    },
    logout: logout(parts),
    forgotPassword: forgotPassword(parts),
    resetPassword: redeemResetToken(parts),
  };
}

function signup(parts: ApiParts): Handler<Operations['signup']> {
  return async ({ body, ip }) => {
    const hashed = await hashPassword(body.password);
    if (hashed === 'busy') return refuse('unavailable');
    const tenantId = uuidv7();
    const email = body.email.trim();
    const tenant = await parts.database.asTenant(tenantId, async (db) => {
      const inserted = await insertTenant(db, {
        tenantId,
        name: body.name.trim(),
        email,
        passwordHash: hashed.hash,
        dataKeyWrapped: parts.vault.makeDataKey(tenantId),
      });
      if (!inserted) return refuse('email_taken');
      await recordAudit(db, {
        tenantId,
        actorType: 'user',
        actorId: email,
        action: 'tenant.signed_up',
        resourceType: 'tenant',
        resourceId: tenantId,
        ip,
      });
      return inserted;
    });
    if (isRefusal(tenant)) return tenant;
    const { token } = await openSession(parts, { tenantId, tokensValidFromMs: 0 });
    return { tenant_id: tenantId, email, plan_tier: tenant.plan_tier, token };
  };
}

/** An unknown address, a wrong password and a closed account get the same answer after the same work. */
function login(parts: ApiParts): Handler<Operations['login']> {
  return async ({ body, ip }) => {
    const tenant = await parts.database.asSystem((db) => findCredentialsByEmail(db, body.email.trim()));
    const verdict = await verifyPassword(tenant?.password_hash ?? null, body.password);
    if (verdict === 'busy') return refuse('unavailable');
    if (!tenant || verdict === 'mismatch' || tenant.status !== 'active') {
      const tenantId = tenant?.tenant_id ?? uuidv7();
      const reason = verdict === 'match' ? 'not_active' : 'wrong_password';
      await parts.database.asTenant(tenantId, async (db) => {
        await recordFailedLogin(db, { tenantId, ip, reason });
        // Nobody's failed log-in is written like anyone's, and then undone.
        return tenant ? null : refuse('invalid_credentials');
      });
      return refuse('invalid_credentials');
    }
    await parts.database.asTenant(tenant.tenant_id, (db) =>
      recordAudit(db, {
        tenantId: tenant.tenant_id,
        actorType: 'user',
        actorId: tenant.email,
        action: 'user.login',
        resourceType: 'tenant',
        resourceId: tenant.tenant_id,
        ip,
      }),
    );
    const session = await openSession(parts, {
      tenantId: tenant.tenant_id,
      tokensValidFromMs: tenant.tokens_valid_from_ms,
    });
    return { tenant_id: tenant.tenant_id, email: tenant.email, plan_tier: tenant.plan_tier, ...session };
  };
}

function logout(parts: ApiParts): Handler<Operations['logout']> {
  return async ({ caller, ip }) => {
    await parts.database.asTenant(caller.tenantId, async (db) => {
      await revokeToken(db, caller.tenantId, caller.tokenId, caller.tokenExpiresAtMs);
      await recordAudit(db, {
        tenantId: caller.tenantId,
        actorType: 'user',
        actorId: caller.email,
        action: 'user.logout',
        resourceType: 'tenant',
        resourceId: caller.tenantId,
        ip,
      });
    });
    return { message: 'You are logged out; this token no longer works.' };
  };
}

/** Only queues: whether there is such an account is found out later, where nobody can time it. */
function forgotPassword(parts: ApiParts): Handler<Operations['forgotPassword']> {
  return async ({ body, ip }) => {
    const asked = { email: body.email.trim(), ip };
    await parts.database.asSystem((db) => addSealedJob(db, parts.vault, 'forgot_password', asked));
    return { message: 'If an account has this address, a mail with a reset link is on its way.' };
  };
}

function redeemResetToken(parts: ApiParts): Handler<Operations['resetPassword']> {
  return async ({ body, ip }) => {
    const tokenHash = createHash('sha256').update(body.token.toLowerCase()).digest();
    const reset = await parts.database.asSystem((db) => findPasswordReset(db, tokenHash));
    if (!reset || reset.used_at !== null) return refuse('invalid_reset_token');
    if (reset.expires_at.getTime() <= parts.nowMs()) return refuse('token_expired');
    // Hashing is costly, so only a token that looked good gets this far; whether it is, the update decides.
    const hashed = await hashPassword(body.password);
    if (hashed === 'busy') return refuse('unavailable');
    const tenantId = reset.tenant_id;
    return parts.database.asTenant(tenantId, async (db) => {
      const nowMs = parts.nowMs();
      if (!(await redeemPasswordReset(db, tenantId, tokenHash, nowMs))) return refuse('invalid_reset_token');
      const changed = await resetPassword(db, tenantId, {
        newHash: hashed.hash,
        tokensValidFromMs: endOfEarlierSessionsMs(parts),
      });
      if (!changed) return refuse('invalid_reset_token');
      await voidPasswordResets(db, tenantId, nowMs);
      await recordAudit(db, {
        tenantId,
        actorType: 'user',
        actorId: null,
        action: 'user.password_reset',
        resourceType: 'tenant',
        resourceId: tenantId,
        ip,
      });
      return { message: 'The password is changed; log in with the new one.' };
    });
  };
}
