import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Provider } from '../../contract/providers.ts';
import { makePriceBook, type PriceBook } from '../domain/price-book.ts';
import { parsePrice } from '../domain/price-json.ts';
import type { Price } from '../domain/pricing.ts';
import { announceChange } from './control-changes.ts';
import type { Db } from './database.ts';
import { addJob } from './jobs.ts';

export interface StoredPrice {
  price_id: string;
  provider: Provider;
  model_id: string;
  model_family: string;
  effective_from_ms: number;
  price: unknown;
}

/** The whole price book, past prices included: a request is charged by the price of its own moment. */
export async function listPrices(db: Db): Promise<StoredPrice[]> {
  return db.query<StoredPrice>(sql`
    select prices.id as price_id, provider, model_id, model_family, price,
           (extract(epoch from effective_from) * 1000)::bigint as effective_from_ms
      from prices join models on models.id = prices.model
     where status <> 'inactive'`);
}

export interface SeedPrice {
  provider: Provider;
  model_id: string;
  model_family: string;
  context_window: number | null;
  status: 'active' | 'deprecated';
  effective_from_ms: number;
  price: unknown;
  source: string;
}

/**
 * Adds the models this version was shipped with that are not there yet, with their prices. A model that is
 * there keeps its prices: from its first day on they are the operator's.
 */
export async function addSeedPrices(db: Db, seeds: readonly SeedPrice[]): Promise<void> {
  const rows = JSON.stringify(seeds.map((seed) => ({ ...seed, new_model: uuidv7(), new_price: uuidv7() })));
  await db.query(sql`
    with seed as (
      select * from json_to_recordset(${rows}::json) as seed (
        new_model uuid, new_price uuid, provider text, model_id text, model_family text, context_window bigint,
        status text, effective_from_ms bigint, price jsonb, source text)
    ),
    added as (
      insert into models (id, provider, model_id, model_family, context_window, status)
      select distinct on (provider, model_id)
             new_model, provider, model_id, model_family, context_window, status
        from seed
          on conflict (provider, model_id) do nothing
      returning id, provider, model_id
    )
    insert into prices (id, model, effective_from, price, source)
    select new_price, added.id, to_timestamp(effective_from_ms / 1000.0), price, source
      from seed join added using (provider, model_id)`);
}

/** The price book by the meter's own rules, for what is charged or estimated outside the proxy. */
export async function loadPriceBook(db: Db): Promise<PriceBook> {
  const rows = await listPrices(db);
  return makePriceBook(
    rows.flatMap(({ effective_from_ms, price: json, ...row }) => {
      const price = parsePrice(json);
      return 'problem' in price ? [] : [{ ...row, effective_from: effective_from_ms, price }];
    }),
  );
}

/** Stored prices were checked when they were written; one that cannot be read any more is a fault. */
export function readStoredPrice(json: Record<string, unknown>): Price {
  const price = parsePrice(json);
  if ('problem' in price) throw new Error(`a stored price cannot be read: ${price.field} ${price.problem}`);
  return price;
}

export interface PriceHistoryRow {
  price_id: string;
  effective_from: Date;
  price: Record<string, unknown>;
  source: string;
  created_at: Date;
}

/** A model's prices, the latest start first. */
export async function listModelPrices(db: Db, model: string): Promise<PriceHistoryRow[]> {
  return db.query<PriceHistoryRow>(sql`
    select id as price_id, effective_from, price, source, created_at
      from prices where model = ${model} order by effective_from desc`);
}

/** The stored form of the price in force at an instant; null when none is. */
export async function findPriceInForce(
  db: Db,
  model: string,
  at: Date,
): Promise<Record<string, unknown> | null> {
  const rows = await db.query<{ price: Record<string, unknown> }>(sql`
    select price from prices where model = ${model} and effective_from <= ${at}
     order by effective_from desc limit 1`);
  return rows[0]?.price ?? null;
}

/**
 * Opens a price from an instant on. Every node reads the price book again with the commit, and what was called
 * before there was a price is charged when this one is in force. Null when another price begins at the very
 * same instant.
 */
export async function openPrice(
  db: Db,
  draft: { model: string; effectiveFrom: Date; price: Record<string, unknown>; source: string; now: Date },
): Promise<string | null> {
  const rows = await db.query<{ id: string }>(sql`
    insert into prices (id, model, effective_from, price, source)
    values (${uuidv7()}, ${draft.model}, ${draft.effectiveFrom}, ${JSON.stringify(draft.price)}, ${draft.source})
        on conflict (model, effective_from) do nothing
    returning id`);
  if (!rows[0]) return null;
  await announceChange(db, 'prices');
  await addJob(
    db,
    'correct_unpriced',
    {},
    draft.effectiveFrom > draft.now ? { runAt: draft.effectiveFrom } : {},
  );
  return rows[0].id;
}
