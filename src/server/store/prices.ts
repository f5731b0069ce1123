import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Provider } from '../../contract/providers.ts';
import type { Db } from './database.ts';

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
