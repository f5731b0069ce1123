import sql, { empty } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { ALERT_TYPES, SEVERITIES } from '../../contract/alerts.ts';
import type { Db } from './database.ts';
import { emitEvent } from './events.ts';

export type AlertType = (typeof ALERT_TYPES)[number];
export type Severity = (typeof SEVERITIES)[number];

export interface AlertDraft {
  tenantId: string;
  type: AlertType;
  severity: Severity;
  title: string;
  metadata: Record<string, unknown>;
  /** The same cause never raises a second alert, e.g. `budget:<id>:<period start>:0.8`. */
  cause: string;
}

export interface AlertRow {
  id: string;
  alert_type: AlertType;
  severity: Severity;
  title: string;
  acknowledged: boolean;
  acknowledged_at: Date | null;
  metadata: Record<string, unknown>;
  created_at: Date;
}

const columns = sql`id, alert_type, severity, title, acknowledged, acknowledged_at, metadata, created_at`;

/** Raises an alert in the transaction that found its cause, and has it delivered. False when it stands already. */
export async function raiseAlert(db: Db, draft: AlertDraft): Promise<boolean> {
  const rows = await db.query<AlertRow>(sql`
    insert into alerts (tenant_id, id, alert_type, severity, title, metadata, cause)
    values (${draft.tenantId}, ${uuidv7()}, ${draft.type}, ${draft.severity}, ${draft.title},
            ${JSON.stringify(draft.metadata)}, ${draft.cause})
        on conflict (tenant_id, cause) do nothing
    returning ${columns}`);
  const alert = rows[0];
  if (!alert) return false;
  const data = { ...alert, acknowledged_at: null, created_at: alert.created_at.toISOString() };
  await emitEvent(db, { tenantId: draft.tenantId, type: `alert.${draft.type}`, data });
  return true;
}

export interface AlertFilter {
  acknowledged?: boolean;
  severity?: Severity;
  alertType?: AlertType;
}

export async function listAlerts(
  db: Db,
  tenantId: string,
  filter: AlertFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: AlertRow[]; total: number }> {
  const matching = sql`tenant_id = ${tenantId}
    ${filter.acknowledged === undefined ? empty : filter.acknowledged ? sql`and acknowledged` : sql`and not acknowledged`}
    ${filter.severity === undefined ? empty : sql`and severity = ${filter.severity}`}
    ${filter.alertType === undefined ? empty : sql`and alert_type = ${filter.alertType}`}`;
  const rows = await db.query<AlertRow>(sql`
    select ${columns} from alerts where ${matching}
     order by id desc limit ${page.limit} offset ${page.offset}`);
  const counted = await db.query<{ total: number }>(
    sql`select count(*) as total from alerts where ${matching}`,
  );
  return { rows, total: counted[0]!.total };
}

/** The alert, and whether this call acknowledged it. The row's lock lets one of several at once be the one. */
export async function acknowledgeAlert(
  db: Db,
  tenantId: string,
  id: string,
): Promise<{ alert: AlertRow; changed: boolean } | null> {
  const changed = await db.query<AlertRow>(sql`
    update alerts set acknowledged = true, acknowledged_at = now()
     where tenant_id = ${tenantId} and id = ${id} and not acknowledged
    returning ${columns}`);
  if (changed[0]) return { alert: changed[0], changed: true };
  const standing = await db.query<AlertRow>(sql`
    select ${columns} from alerts where tenant_id = ${tenantId} and id = ${id}`);
  return standing[0] ? { alert: standing[0], changed: false } : null;
}
