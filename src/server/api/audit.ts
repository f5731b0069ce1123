import type { auditOperations } from '../../contract/audit.ts';
import { isRefusal, refuse } from '../../contract/errors.ts';
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../contract/operation.ts';
import { readDayRange } from '../domain/day-range.ts';
import { type AuditFilter, type AuditRow, listAudit, listAuditBefore } from '../store/audit.ts';
import type { Handlers } from './handler.ts';
import type { ApiParts } from './parts.ts';

const DAY_MS = 86_400_000;
const CSV_BATCH_ROWS = 500;
const COLUMNS = [
  'id',
  'tenant_id',
  'actor_type',
  'actor_id',
  'action',
  'resource_type',
  'resource_id',
  'ip_address',
  'details',
  'created_at',
] as const;

export function auditApi(parts: ApiParts): Handlers<typeof auditOperations> {
  return {
    listAudit: async ({ query, caller: { tenantId } }) => {
      const days = readDayRange(query);
      if (isRefusal(days)) return days;
      for (const name of ['actor_type', 'action'] as const) {
        // PostgreSQL refuses this character in any text; it would be a fault instead of an answer.
        if (query[name]?.includes('\0'))
          return refuse('invalid_field', `The field "${name}" is not valid text.`);
      }
      const filter: AuditFilter = {
        ...(query.actor_type !== undefined && { actorType: query.actor_type }),
        ...(query.action !== undefined && { action: query.action }),
        from: new Date(`${days.from}T00:00:00Z`),
        // Time-ordered ids cannot say an instant before the epoch, and nothing is older.
        until: new Date(Math.max(0, Date.parse(`${days.to}T00:00:00Z`) + DAY_MS)),
      };
      if (query.format === 'csv') {
        const rows = readForCsv(parts, tenantId, filter);
        return { kind: 'csv', filename: 'audit.csv', columns: COLUMNS, rows };
      }
      const limit = Math.min(query.limit ?? DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT);
      const offset = query.offset ?? 0;
      const page = await parts.database.asTenant(tenantId, (db) =>
        listAudit(db, tenantId, filter, { limit, offset }),
      );
      const data = page.rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
      return { data, total: page.total, limit, offset };
    },
  };
}

/** Batch by batch, each in a transaction of its own: a client that reads slowly holds no connection. */
async function* readForCsv(
  parts: ApiParts,
  tenantId: string,
  filter: AuditFilter,
): AsyncGenerator<readonly unknown[]> {
  let batch: AuditRow[] = [];
  let beforeId: string | null = null;
  do {
    const from: string | null = beforeId;
    batch = await parts.database.asTenant(tenantId, (db) =>
      listAuditBefore(db, tenantId, filter, from, CSV_BATCH_ROWS),
    );
    for (const row of batch) yield COLUMNS.map((column) => row[column]);
    beforeId = batch.at(-1)?.id ?? null;
  } while (batch.length === CSV_BATCH_ROWS);
}
