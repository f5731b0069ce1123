import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { Provider } from '../../contract/providers.ts';
import type { ServedTerms, Usage } from '../domain/usage.ts';
import type { Db } from './database.ts';

export interface RequestId {
  tenant_id: string;
  id: string;
}

export interface UnpricedRequest extends RequestId {
  created_at: Date;
  provider: Provider;
  model_requested: string | null;
  model_id: string | null;
  service_tier: ServedTerms['tier'];
  region: string | null;
  usage: Usage;
  team_id: string | null;
  service_name: string | null;
  agent: string | null;
  /** As the request's own ledger record has it. */
  hierarchy_path: string;
}

/**
 * Requests since an instant that wait for a price and may have one by now: a model of their name, dated or not,
 * is in the price book. Those whose usage nobody knows can never be priced and are left out.
 */
export async function listUnpricedRequests(
  db: Db,
  range: { since: Date; afterId: string | null },
  limit: number,
): Promise<RequestId[]> {
  return db.query<RequestId>(sql`
    select tenant_id, id from requests
     where cost_status = 'unpriced' and usage_source <> 'none' and sequence_number is not null
       and id >= first_id_at(${range.since}) ${range.afterId === null ? empty : sql`and id > ${range.afterId}`}
       and exists (
         select from models
          where models.provider = requests.provider and models.status <> 'inactive'
            and regexp_replace(models.model_id, '^models/', '') in (
              regexp_replace(requests.model_requested, '^models/', ''),
              regexp_replace(requests.model_id, '^models/', ''),
              regexp_replace(requests.model_id, '^models/|-([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})$', '', 'g'))
            and exists (select from prices where prices.model = models.id))
     order by id limit ${limit}`);
}

/** The same requests once their tenants' chains are locked: one that was corrected meanwhile is not among them. */
export async function lockUnpricedRequests(
  db: Db,
  requests: readonly RequestId[],
): Promise<UnpricedRequest[]> {
  return db.query<UnpricedRequest>(sql`
    select requests.tenant_id, requests.id, requests.created_at, requests.provider, model_requested,
           requests.model_id, service_tier, region, usage, team_id, service_name, agent, hierarchy_path
      from requests
      join ledger_records using (tenant_id, sequence_number)
     where (requests.tenant_id, requests.id) in (
             select * from unnest(${requests.map((row) => row.tenant_id)}::uuid[],
                                  ${requests.map((row) => row.id)}::uuid[]))
       and cost_status = 'unpriced'
     order by requests.tenant_id, requests.id
       for update of requests`);
}

export interface PricedRequest extends RequestId {
  cost_microdollars: number;
  price_id: string;
  model_family: string;
}

/**
 * Writes the cost of requests that had none, and adds it to every rollup. The rollup rows are there, made when
 * the requests came in.
 */
export async function priceRequests(db: Db, priced: readonly PricedRequest[]): Promise<void> {
  const figures = JSON.stringify(await markPriced(db, priced));
  for (const rollup of ROLLUPS) await db.query(addToRollup(rollup, figures));
}

async function markPriced(db: Db, priced: readonly PricedRequest[]): Promise<unknown[]> {
  return db.query(sql`
    update requests
       set cost_status = 'priced', cost_microdollars = new.cost_microdollars,
           price_id = new.price_id, model_family = new.model_family
      from json_to_recordset(${JSON.stringify(priced)}::json) as new (
        tenant_id uuid, id uuid, cost_microdollars bigint, price_id uuid, model_family text)
     where requests.tenant_id = new.tenant_id and requests.id = new.id
    returning requests.tenant_id,
              date_trunc('hour', created_at, 'UTC') as hour,
              (created_at at time zone 'UTC')::date as day,
              provider,
              coalesce(model_id, '') as model_id,
              coalesce(team_id::text, '') as team_id,
              coalesce(service_name, '') as service_name,
              environment, status_code, user_name, end_customer, agent, requests.cost_microdollars as cost`);
}

const FIGURE_COLUMNS = sql`
  tenant_id uuid, hour timestamptz, day date, provider text, model_id text, team_id text,
  service_name text, environment text, status_code integer, user_name text, end_customer text, agent text,
  cost bigint`;

const BY_ATTRIBUTION = ['provider', 'model_id', 'team_id', 'service_name'];
const BY_CALL = [...BY_ATTRIBUTION, 'environment', 'status_code'];

/** Every rollup that holds a cost, with its key. */
const ROLLUPS: ReadonlyArray<{ table: string; key: readonly string[] }> = [
  { table: 'usage_hourly', key: ['tenant_id', 'hour', ...BY_CALL] },
  { table: 'usage_daily', key: ['tenant_id', 'day', ...BY_CALL] },
  { table: 'usage_daily_users', key: ['tenant_id', 'day', 'user_name', ...BY_ATTRIBUTION] },
  { table: 'usage_daily_end_customers', key: ['tenant_id', 'day', 'end_customer', ...BY_ATTRIBUTION] },
  { table: 'usage_daily_agents', key: ['tenant_id', 'day', 'agent'] },
];

function addToRollup({ table, key }: (typeof ROLLUPS)[number], figures: string): Sql {
  const columns = join(key.map((column) => raw(column)));
  const same = join(
    key.map((column) => raw(`total.${column} = added.${column}`)),
    ' and ',
  );
  return sql`
    update ${raw(table)} as total set cost_microdollars = total.cost_microdollars + added.cost
      from (select ${columns}, sum(cost)::bigint as cost
              from json_to_recordset(${figures}::json) as figures (${FIGURE_COLUMNS})
             group by ${columns}) added
     where ${same}`;
}
