import { type AuditDraft, recordAudit } from '../store/audit.ts';
import type { Db } from '../store/database.ts';

/** What operators do to the platform itself stands in the log of no tenant. */
export const PLATFORM_TENANT = '00000000-0000-0000-0000-000000000000';

export function recordOperatorAudit(
  db: Db,
  ip: string,
  entry: Pick<AuditDraft, 'action' | 'resourceType' | 'resourceId' | 'details'> & { tenantId?: string },
): Promise<void> {
  return recordAudit(db, {
    tenantId: PLATFORM_TENANT,
    ...entry,
    actorType: 'operator',
    actorId: null,
    ip,
  });
}
