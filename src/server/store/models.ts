import sql, { empty, type Sql } from 'sql-template-tag';
import type { MODEL_STATUSES } from '../../contract/operator-models.ts';
import type { Provider } from '../../contract/providers.ts';
import type { Db } from './database.ts';
import { containing } from './text-search.ts';

export type ModelStatus = (typeof MODEL_STATUSES)[number];

export interface PricedModelRow {
  model_id: string;
  provider: Provider;
  model_family: string;
  context_window: number | null;
  status: string;
  /** As `priceToJson` writes it: amounts are decimal texts. */
  price: Record<string, unknown>;
  effective_from: Date;
}

/** Models on offer, each with the price in force at an instant; one whose first price is yet to come is not. */
export async function listPricedModels(
  db: Db,
  at: Date,
  provider: Provider | undefined,
): Promise<PricedModelRow[]> {
  return db.query<PricedModelRow>(sql`
    select model_id, provider, model_family, context_window, status, price, effective_from
      from models
     cross join lateral (
       select price, effective_from from prices
        where prices.model = models.id and effective_from <= ${at}
        order by effective_from desc limit 1) in_force
     where status <> 'inactive' ${provider === undefined ? empty : sql`and provider = ${provider}`}
     order by provider, model_id`);
}

/** A price within a row of JSON: its times are texts as PostgreSQL writes them into JSON. */
export interface NestedPrice {
  price_id: string;
  effective_from: string;
  price: Record<string, unknown>;
  source: string;
  created_at: string;
}

export interface ModelRow {
  id: string;
  provider: Provider;
  model_id: string;
  model_family: string;
  context_window: number | null;
  status: ModelStatus;
  created_at: Date;
  updated_at: Date;
  current_price: NestedPrice | null;
  upcoming_prices: NestedPrice[];
}

export interface ModelFilter {
  provider?: Provider | undefined;
  status?: ModelStatus | undefined;
  search?: string | undefined;
}

const nestedPrice = sql`
  json_build_object('price_id', prices.id, 'effective_from', effective_from, 'price', price, 'source', source,
                    'created_at', prices.created_at)`;

function selectModels(at: Date, condition: Sql): Sql {
  return sql`
    select id, provider, model_id, model_family, context_window, status, created_at, updated_at,
           (select ${nestedPrice} from prices
             where prices.model = models.id and effective_from <= ${at}
             order by effective_from desc limit 1) as current_price,
           coalesce(
             (select json_agg(${nestedPrice} order by effective_from) from prices
               where prices.model = models.id and effective_from > ${at}), '[]') as upcoming_prices
      from models where ${condition}`;
}

/** Every model, inactive ones and those without a price included. */
export async function listModels(
  db: Db,
  at: Date,
  filter: ModelFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: ModelRow[]; total: number }> {
  const condition = sql`true
    ${filter.provider === undefined ? empty : sql`and provider = ${filter.provider}`}
    ${filter.status === undefined ? empty : sql`and status = ${filter.status}`}
    ${filter.search === undefined ? empty : sql`and (model_id ilike ${containing(filter.search)} or model_family ilike ${containing(filter.search)})`}`;
  const rows = await db.query<ModelRow>(sql`
    ${selectModels(at, condition)}
     order by provider, model_id limit ${page.limit} offset ${page.offset}`);
  const counted = await db.query<{ total: number }>(
    sql`select count(*) as total from models where ${condition}`,
  );
  return { rows, total: counted[0]!.total };
}

export async function findModel(db: Db, id: string, at: Date): Promise<ModelRow | null> {
  const rows = await db.query<ModelRow>(selectModels(at, sql`id = ${id}`));
  return rows[0] ?? null;
}

/**
 * Finds a model and lets one transaction at a time change it: what a change leaves as it is must be what is
 * there when the change is written.
 */
export async function lockModel(db: Db, id: string): Promise<boolean> {
  const rows = await db.query(sql`select from models where id = ${id} for update`);
  return rows.length === 1;
}

export async function lockModelByName(db: Db, provider: Provider, modelId: string): Promise<string | null> {
  const rows = await db.query<{ id: string }>(sql`
    select id from models where provider = ${provider} and model_id = ${modelId} for update`);
  return rows[0]?.id ?? null;
}

export interface ModelDraft {
  id: string;
  provider: Provider;
  modelId: string;
  modelFamily: string;
  contextWindow: number | null;
  status: ModelStatus;
}

/** False when the provider has a model of this name already. */
export async function insertModel(db: Db, draft: ModelDraft): Promise<boolean> {
  const rows = await db.query(sql`
    insert into models (id, provider, model_id, model_family, context_window, status)
    values (${draft.id}, ${draft.provider}, ${draft.modelId}, ${draft.modelFamily}, ${draft.contextWindow},
            ${draft.status})
        on conflict (provider, model_id) do nothing
    returning id`);
  return rows.length === 1;
}

export async function updateModel(
  db: Db,
  id: string,
  changes: { modelFamily: string; contextWindow: number | null; status: ModelStatus },
): Promise<void> {
  await db.query(sql`
    update models
       set model_family = ${changes.modelFamily}, context_window = ${changes.contextWindow},
           status = ${changes.status}, updated_at = now()
     where id = ${id}`);
}
