import pg from 'pg';
import sql, { type Sql } from 'sql-template-tag';
import { type Db, SCHEMA } from '../server/store/database.ts';

/**
 * What the API can only do now, moved to when it happened in the story. Nothing here touches the ledger, the
 * request log or a sum: those are written for their own time to begin with.
 */

/** Ids of rows sort by their time, so the time in an id has to move with the row; the rest of it stays. */
const movedId = (to: Sql) => sql`(left(first_id_at(${to})::text, 13) || substr(id::text, 14))::uuid`;

const QUEUE_SCHEMA = 'graphile_worker';

/** Accounts, teams and keys, and the log of how they were made, as if that had been on that day. */
export async function moveOpening(db: Db, tenantIds: readonly string[], at: Date): Promise<void> {
  await db.query(sql`
    update tenants set created_at = ${at}, updated_at = ${at} where tenant_id = any (${tenantIds}::uuid[])`);
  await db.query(sql`
    update teams set created_at = ${at} where tenant_id = any (${tenantIds}::uuid[])`);
  await db.query(sql`
    update api_keys set created_at = ${at}, revoked_at = revoked_at - (now() - ${at}::timestamptz) / 2
     where tenant_id = any (${tenantIds}::uuid[])`);
  await db.query(sql`
    update provider_keys set created_at = ${at} where tenant_id = any (${tenantIds}::uuid[])`);
  await moveAudit(db, tenantIds, at);
}

/**
 * All of them share their figures with the public index, and have for as long as they are here. One by one, at
 * the first of them the index of yesterday would be closed without the others, and before their month is told
 * it would be closed empty.
 */
export async function shareFigures(db: Db, tenantIds: readonly string[]): Promise<void> {
  await db.query(sql`
    update tenants set data_share_enabled = true where tenant_id = any (${tenantIds}::uuid[])`);
}

/** All of it so far, or what was done to some things; what came later stays later. */
async function moveAudit(
  db: Db,
  tenantIds: readonly string[],
  at: Date,
  of: { resourceIds: readonly string[] | null; action: string | null } = { resourceIds: null, action: null },
): Promise<void> {
  await db.query(sql`
    with moving as (
      select tenant_id, id as old_id,
             ${at}::timestamptz + (created_at - min(created_at) over (partition by tenant_id)) as moved_at
        from audit_entries
       where tenant_id = any (${tenantIds}::uuid[])
         and (${of.resourceIds}::text[] is null or resource_id = any (${of.resourceIds}::text[]))
         and (${of.action}::text is null or action = ${of.action}))
    update audit_entries set created_at = moved_at, id = ${movedId(sql`moved_at`)}
      from moving
     where audit_entries.tenant_id = moving.tenant_id and audit_entries.id = moving.old_id`);
}

/** Budgets, quotas and webhooks that have been there for a while. */
export async function moveControls(db: Db, tenantId: string, at: Date): Promise<void> {
  const moved = [
    sql`update budgets set created_at = ${at}, updated_at = ${at} where tenant_id = ${tenantId} returning id`,
    sql`update spend_quotas set created_at = ${at}, updated_at = ${at} where tenant_id = ${tenantId} returning id`,
    sql`update webhooks set created_at = ${at}, updated_at = ${at} where tenant_id = ${tenantId} returning id`,
  ];
  const resourceIds: string[] = [];
  for (const statement of moved) {
    resourceIds.push(...(await db.query<{ id: string }>(statement)).map(({ id }) => id));
  }
  await moveAudit(db, [tenantId], at, { resourceIds, action: null });
}

/** Switched on then, and off again after a while. */
export async function moveKillSwitch(
  db: Db,
  tenantId: string,
  id: string,
  during: { from: Date; to: Date },
): Promise<void> {
  await db.query(sql`
    update kill_switches set activated_at = ${during.from}, deactivated_at = ${during.to}
     where tenant_id = ${tenantId} and id = ${id}`);
  const resourceIds = [id];
  await moveAudit(db, [tenantId], during.from, { resourceIds, action: 'kill_switch.activated' });
  await moveAudit(db, [tenantId], during.to, { resourceIds, action: 'kill_switch.deactivated' });
}

/** Alerts by how their cause begins; an old one has been seen by somebody since. */
export async function moveAlerts(
  db: Db,
  tenantId: string,
  move: { causeBeginsWith: string; at: Date; acknowledgedAt: Date },
): Promise<void> {
  await db.query(sql`
    update alerts
       set created_at = ${move.at}, id = ${movedId(sql`${move.at}::timestamptz`)},
           acknowledged = true, acknowledged_at = ${move.acknowledgedAt}
     where tenant_id = ${tenantId} and starts_with(cause, ${move.causeBeginsWith})`);
}

/** Models are announced to have changed when they did, not when we were told. */
export async function moveModelChanges(db: Db, tenantId: string): Promise<void> {
  const changedAt = sql`(metadata ->> 'changed_at')::timestamptz`;
  await db.query(sql`
    update alerts set created_at = ${changedAt}, id = ${movedId(changedAt)}
     where tenant_id = ${tenantId} and alert_type = 'model_change' and metadata ->> 'changed_at' is not null`);
}

/** Everything the demo has written into its own database. */
export async function forgetEverything(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'gateway-demo' });
  await client.connect();
  try {
    for (const schema of [SCHEMA, QUEUE_SCHEMA])
      await client.query(`drop schema if exists ${schema} cascade`);
  } finally {
    await client.end();
  }
}
