import sql, { type Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Provider } from '../../contract/providers.ts';
import type { ModelUsage } from '../domain/price-changes.ts';
import type { Db } from './database.ts';
import { addJob } from './jobs.ts';

export type Decision = 'acknowledged' | 'dismissed';

export interface PriceChangeRow {
  id: string;
  provider: Provider;
  model_id: string;
  model_family: string;
  price_id: string | null;
  old_price: Record<string, unknown>;
  new_price: Record<string, unknown>;
  effective_at: Date;
  source: string;
  note: string | null;
  tenants_notified: number;
  created_at: Date;
}

/** A change with what one tenant made of it; nulls while it has not. */
export interface DecidedChangeRow extends PriceChangeRow {
  decision: Decision | null;
  decided_at: Date | null;
  decided_by: string | null;
}

const columns = sql`
  price_changes.id, provider, model_id, model_family, price_id, old_price, new_price, effective_at, source, note,
  tenants_notified, price_changes.created_at`;

/** Writes a change down and has the tenants concerned told, both with the caller's transaction. */
export async function insertPriceChange(
  db: Db,
  draft: {
    model: string;
    priceId: string | null;
    oldPrice: Record<string, unknown>;
    newPrice: Record<string, unknown>;
    effectiveAt: Date;
    source: string;
    note: string | null;
    createdAt: Date;
  },
): Promise<string> {
  const id = uuidv7();
  await db.query(sql`
    insert into price_changes
      (id, model, price_id, old_price, new_price, effective_at, source, note, created_at)
    values (${id}, ${draft.model}, ${draft.priceId}, ${JSON.stringify(draft.oldPrice)},
            ${JSON.stringify(draft.newPrice)}, ${draft.effectiveAt}, ${draft.source}, ${draft.note},
            ${draft.createdAt})`);
  await addJob(db, 'announce_price_change', { change_id: id });
  return id;
}

export async function findPriceChange(db: Db, id: string): Promise<PriceChangeRow | null> {
  const rows = await db.query<PriceChangeRow>(sql`
    select ${columns} from price_changes join models on models.id = price_changes.model
     where price_changes.id = ${id}`);
  return rows[0] ?? null;
}

export async function listPriceChanges(
  db: Db,
  page: { limit: number; offset: number },
): Promise<{ rows: PriceChangeRow[]; total: number }> {
  const rows = await db.query<PriceChangeRow>(sql`
    select ${columns} from price_changes join models on models.id = price_changes.model
     order by price_changes.created_at desc, price_changes.id desc limit ${page.limit} offset ${page.offset}`);
  const counted = await db.query<{ total: number }>(sql`select count(*) as total from price_changes`);
  return { rows, total: counted[0]!.total };
}

function withDecisions(tenantId: string): Sql {
  return sql`
    select ${columns}, decision, decided_at, decided_by
      from price_changes
      join models on models.id = price_changes.model
      left join price_change_decisions decided
        on decided.tenant_id = ${tenantId} and decided.change_id = price_changes.id`;
}

/** Announced or come into force since an instant, still to come included, and not yet decided by the tenant. */
export async function listOpenPriceChanges(
  db: Db,
  tenantId: string,
  since: Date,
): Promise<DecidedChangeRow[]> {
  return db.query<DecidedChangeRow>(sql`
    ${withDecisions(tenantId)}
     where (price_changes.created_at >= ${since} or effective_at >= ${since}) and decision is null
     order by price_changes.created_at desc, price_changes.id desc`);
}

export async function listDecidedPriceChanges(
  db: Db,
  tenantId: string,
  page: { limit: number; offset: number },
): Promise<{ rows: DecidedChangeRow[]; total: number }> {
  const rows = await db.query<DecidedChangeRow>(sql`
    ${withDecisions(tenantId)}
     where decision is not null
     order by decided_at desc, price_changes.id desc limit ${page.limit} offset ${page.offset}`);
  const counted = await db.query<{ total: number }>(sql`
    select count(*) as total from price_change_decisions where tenant_id = ${tenantId}`);
  return { rows, total: counted[0]!.total };
}

export async function findPriceChangeOf(
  db: Db,
  tenantId: string,
  id: string,
): Promise<DecidedChangeRow | null> {
  const rows = await db.query<DecidedChangeRow>(sql`
    ${withDecisions(tenantId)} where price_changes.id = ${id}`);
  return rows[0] ?? null;
}

/** The later decision counts. The alert that told of the change is settled with it. */
export async function decidePriceChange(
  db: Db,
  tenantId: string,
  decision: { changeId: string; decision: Decision; decidedAt: Date; decidedBy: string },
): Promise<void> {
  await db.query(sql`
    insert into price_change_decisions (tenant_id, change_id, decision, decided_at, decided_by)
    values (${tenantId}, ${decision.changeId}, ${decision.decision}, ${decision.decidedAt},
            ${decision.decidedBy})
        on conflict (tenant_id, change_id)
        do update set decision = excluded.decision, decided_at = excluded.decided_at,
                      decided_by = excluded.decided_by`);
  await db.query(sql`
    update alerts set acknowledged = true, acknowledged_at = ${decision.decidedAt}
     where tenant_id = ${tenantId} and cause = ${causeOfAlert(decision.changeId)} and not acknowledged`);
}

export function causeOfAlert(changeId: string): string {
  return `price:${changeId}`;
}

const usageFigures = sql`
  provider, model_id, sum(tokens_input)::bigint as tokens_input, sum(tokens_cached)::bigint as tokens_cached,
  sum(tokens_output)::bigint as tokens_output, sum(cost_microdollars)::bigint as cost_microdollars`;

/** What a tenant used from a day on, by the model that answered. */
export async function listModelUsage(db: Db, tenantId: string, fromDay: string): Promise<ModelUsage[]> {
  return db.query<ModelUsage>(sql`
    select ${usageFigures} from usage_daily
     where tenant_id = ${tenantId} and day >= ${fromDay}
     group by provider, model_id`);
}

/**
 * What every active tenant used of a model from a day on. Names that begin with the model's come along: which
 * of them are billed under it is for the price book to say.
 */
export async function listModelUsageByTenant(
  db: Db,
  model: { provider: Provider; model_id: string },
  fromDay: string,
): Promise<Array<ModelUsage & { tenant_id: string }>> {
  return db.query(sql`
    select tenant_id, ${usageFigures} from usage_daily
     where day >= ${fromDay} and provider = ${model.provider}
       and (starts_with(model_id, ${model.model_id}) or starts_with(model_id, ${`models/${model.model_id}`}))
       and tenant_id in (select tenant_id from tenants where status = 'active')
     group by tenant_id, provider, model_id
     order by tenant_id`);
}

export async function setTenantsNotified(db: Db, changeId: string, tenants: number): Promise<void> {
  await db.query(sql`update price_changes set tenants_notified = ${tenants} where id = ${changeId}`);
}
