import sql from 'sql-template-tag';
import { type AuditDraft, recordAudit } from './audit.ts';
import type { Db } from './database.ts';

/** Without waiting for the disk: the time it takes must not tell a known address from an unknown one. */
export async function recordFailedLogin(
  db: Db,
  attempt: { tenantId: string; ip: string; reason: 'wrong_password' | 'not_active' },
): Promise<void> {
  await db.query(sql`set local synchronous_commit = off`);
  const draft: AuditDraft = {
    tenantId: attempt.tenantId,
    actorType: 'user',
    actorId: null,
    action: 'user.login_failed',
    resourceType: 'tenant',
    resourceId: attempt.tenantId,
    ip: attempt.ip,
    details: { reason: attempt.reason },
  };
  await recordAudit(db, draft);
}
