import { createHash, randomBytes } from 'node:crypto';
import type { Mail } from '../adapters/mailer.ts';
import { recordAudit } from '../store/audit.ts';
import { addSealedJob, openSealedJob } from '../store/jobs.ts';
import { countPasswordResetsSince, insertPasswordReset } from '../store/password-resets.ts';
import { findCredentialsByEmail, lockTenant } from '../store/tenants.ts';
import { composeResetMail } from './reset-mail.ts';
import type { JobParts, Task } from './task.ts';

const RESET_LIFETIME_MS = 60 * 60 * 1000;
const RESET_TOKEN_BYTES = 32;
/** Nobody needs more links than this; whoever asks on, from ever new addresses, wants to fill a mailbox. */
const MAX_RESETS_PER_HOUR = 10;
/** With the queue's growing pauses, some three days. */
const MAX_MAIL_ATTEMPTS = 25;

/** A mail server that fails is tried again, as long as what the mail says still holds. */
export function sendMail(parts: JobParts): Task {
  return async (payload) => {
    const job = openSealedJob(parts.vault, 'send_mail', payload) as { mail: Mail; holdsUntilMs: number };
    if (parts.nowMs() < job.holdsUntilMs) await parts.mailer.send(job.mail);
  };
}

/**
 * The half of a forgotten password that depends on whether the account exists. It runs as a job, so that the
 * request which asked for it does the same work in the same time either way.
 */
export function forgotPassword(parts: JobParts): Task {
  return async (payload) => {
    const asked = openSealedJob(parts.vault, 'forgot_password', payload) as { email: string; ip: string };
    const nowMs = parts.nowMs();
    await parts.database.asSystem(async (db) => {
      const tenant = await findCredentialsByEmail(db, asked.email);
      if (tenant?.status !== 'active') return;
      // One request at a time, or several side by side would each count one link too few.
      await lockTenant(db, tenant.tenant_id);
      const recent = await countPasswordResetsSince(db, tenant.tenant_id, nowMs - RESET_LIFETIME_MS);
      if (recent >= MAX_RESETS_PER_HOUR) return;
      const token = randomBytes(RESET_TOKEN_BYTES).toString('hex');
      const expiresAtMs = nowMs + RESET_LIFETIME_MS;
      await insertPasswordReset(db, {
        tenantId: tenant.tenant_id,
        tokenHash: createHash('sha256').update(token).digest(),
        createdAtMs: nowMs,
        expiresAtMs,
      });
      await recordAudit(db, {
        tenantId: tenant.tenant_id,
        actorType: 'user',
        actorId: null,
        action: 'user.password_reset_requested',
        resourceType: 'tenant',
        resourceId: tenant.tenant_id,
        ip: asked.ip,
      });
      const mail = composeResetMail(tenant.email, parts.dashboardUrl, token);
      const job = { mail, holdsUntilMs: expiresAtMs };
      await addSealedJob(db, parts.vault, 'send_mail', job, { maxAttempts: MAX_MAIL_ATTEMPTS });
    });
  };
}
