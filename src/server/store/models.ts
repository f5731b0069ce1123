import sql, { empty } from 'sql-template-tag';
import type { Provider } from '../../contract/providers.ts';
import type { Db } from './database.ts';

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
