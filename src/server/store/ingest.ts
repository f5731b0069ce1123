import sql from 'sql-template-tag';
import type { ChainHead, LedgerRecord } from '../../ledger/chain.ts';
import { type Db, uuidArray } from './database.ts';

export interface SignedHead extends ChainHead {
  hmac_signature: string;
}

/**
 * Whether a batch was refused for what is in it. Anything else, also a wrong password or a missing table, says
 * nothing about the records, and they are tried again until somebody has seen to it.
 */
export function isAboutRecords(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return /^(22|23|54)/.test(code);
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

export async function ensureRequestsPartition(db: Db, month: string): Promise<void> {
  await db.query(sql`select ensure_requests_partition(${month}::date)`);
}

/**
 * Locks the chains of these tenants until the transaction ends, in the order of their ids, and returns where
 * they stand. Whoever holds a tenant's head is the only one to write its records, so nothing below can deadlock
 * with another node or fork a chain.
 */
export async function lockLedgerHeads(
  db: Db,
  tenantIds: readonly string[],
  firstHead: (tenantId: string) => SignedHead,
): Promise<ChainHead[]> {
  const heads = await selectHeads(db, tenantIds);
  const missing = tenantIds.filter((id) => !heads.some((head) => head.tenant_id === id));
  if (missing.length === 0) return heads;
  await db.query(sql`
    insert into ledger_heads (tenant_id, sequence_number, record_hash, hmac_signature)
    select tenant_id, sequence_number, record_hash, hmac_signature
      from json_to_recordset(${JSON.stringify(missing.map(firstHead))}::json) as head (
        tenant_id uuid, sequence_number bigint, record_hash text, hmac_signature text)
     order by tenant_id
        on conflict do nothing`);
  return selectHeads(db, tenantIds);
}

function selectHeads(db: Db, tenantIds: readonly string[]): Promise<ChainHead[]> {
  return db.query<ChainHead>(sql`
    select tenant_id, sequence_number, record_hash from ledger_heads
     where tenant_id = any (${tenantIds}::uuid[])
     order by tenant_id
       for update`);
}

/** Which of these requests are in the log already: a batch may come twice, its records count once. */
export async function listKnownRequests(
  db: Db,
  requests: ReadonlyArray<{ tenant_id: string; id: string }>,
): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(sql`
    select id from requests
     where (tenant_id, id) in (
       select * from unnest(${uuidArray(requests.map((r) => r.tenant_id))}::uuid[],
                            ${uuidArray(requests.map((r) => r.id))}::uuid[]))`);
  return new Set(rows.map((row) => row.id));
}

/**
 * Writes new requests into the log and adds them to every rollup, in one statement. The records travel as one
 * JSON text, which costs this process far less than building forty arrays.
 */
export async function insertRequests(db: Db, recordsJson: string): Promise<void> {
  await db.query(sql`
    with fresh as (
      insert into requests (
        tenant_id, id, created_at, provider, method, endpoint, model_requested, model_id, model_family, stream,
        status_code, refusal, tokens_input, tokens_output, usage, usage_source, cost_microdollars, cost_status,
        price_id, service_tier, region, anomalies, interrupted, latency_total_ms, latency_first_byte_ms,
        api_key_id, environment, team_id, service_name, agent, user_name, end_customer, tags, headers,
        sequence_number, record_hash, prompt_fingerprint, prefix_fingerprint, long_prefix_fingerprint)
      select
        tenant_id, id, created_at, provider, method, endpoint, model_requested, model_id, model_family, stream,
        status_code, refusal, tokens_input, tokens_output, usage, usage_source, cost_microdollars, cost_status,
        price_id, service_tier, region, anomalies, interrupted, latency_total_ms, latency_first_byte_ms,
        api_key_id, environment, team_id, service_name, agent, user_name, end_customer, tags, headers,
        sequence_number, record_hash, decode(prompt_fingerprint, 'hex'), decode(prefix_fingerprint, 'hex'),
        decode(long_prefix_fingerprint, 'hex')
        from json_to_recordset(${recordsJson}::json) as record (
          tenant_id uuid, id uuid, created_at timestamptz, provider text, method text, endpoint text,
          model_requested text, model_id text, model_family text, stream boolean, status_code integer,
          refusal text, tokens_input bigint, tokens_output bigint, usage jsonb, usage_source text,
          cost_microdollars bigint, cost_status text, price_id uuid, service_tier text, region text,
          anomalies jsonb, interrupted boolean, latency_total_ms integer, latency_first_byte_ms integer,
          api_key_id uuid, environment text, team_id uuid, service_name text, agent text, user_name text,
          end_customer text, tags jsonb, headers jsonb, sequence_number bigint, record_hash text,
          prompt_fingerprint text, prefix_fingerprint text, long_prefix_fingerprint text)
      returning *
    ),
    figures as (
      select tenant_id,
             date_trunc('hour', created_at, 'UTC') as hour,
             (created_at at time zone 'UTC')::date as day,
             provider,
             coalesce(model_id, '') as model_id,
             coalesce(team_id::text, '') as team_id,
             coalesce(service_name, '') as service_name,
             environment, status_code, user_name, end_customer, agent, refusal,
             tokens_input, tokens_output, coalesce((usage ->> 'cached_read')::bigint, 0) as tokens_cached,
             cost_microdollars, latency_total_ms
        from fresh
    ),
    hourly as (
      insert into usage_hourly as total (
        tenant_id, hour, provider, model_id, team_id, service_name, environment, status_code,
        requests, tokens_input, tokens_output, tokens_cached, cost_microdollars, latency_total_ms)
      select tenant_id, hour, provider, model_id, team_id, service_name, environment, status_code,
             count(*), sum(tokens_input), sum(tokens_output), sum(tokens_cached), sum(cost_microdollars),
             sum(latency_total_ms)
        from figures
       group by tenant_id, hour, provider, model_id, team_id, service_name, environment, status_code
          on conflict (tenant_id, hour, provider, model_id, team_id, service_name, environment, status_code)
          do update set requests = total.requests + excluded.requests,
                        tokens_input = total.tokens_input + excluded.tokens_input,
                        tokens_output = total.tokens_output + excluded.tokens_output,
                        tokens_cached = total.tokens_cached + excluded.tokens_cached,
                        cost_microdollars = total.cost_microdollars + excluded.cost_microdollars,
                        latency_total_ms = total.latency_total_ms + excluded.latency_total_ms
    ),
    daily as (
      insert into usage_daily as total (
        tenant_id, day, provider, model_id, team_id, service_name, environment, status_code,
        requests, tokens_input, tokens_output, tokens_cached, cost_microdollars, latency_total_ms)
      select tenant_id, day, provider, model_id, team_id, service_name, environment, status_code,
             count(*), sum(tokens_input), sum(tokens_output), sum(tokens_cached), sum(cost_microdollars),
             sum(latency_total_ms)
        from figures
       group by tenant_id, day, provider, model_id, team_id, service_name, environment, status_code
          on conflict (tenant_id, day, provider, model_id, team_id, service_name, environment, status_code)
          do update set requests = total.requests + excluded.requests,
                        tokens_input = total.tokens_input + excluded.tokens_input,
                        tokens_output = total.tokens_output + excluded.tokens_output,
                        tokens_cached = total.tokens_cached + excluded.tokens_cached,
                        cost_microdollars = total.cost_microdollars + excluded.cost_microdollars,
                        latency_total_ms = total.latency_total_ms + excluded.latency_total_ms
    ),
    users as (
      insert into usage_daily_users as total (
        tenant_id, user_name, day, provider, model_id, team_id, service_name,
        requests, tokens_input, tokens_output, cost_microdollars)
      select tenant_id, user_name, day, provider, model_id, team_id, service_name,
             count(*), sum(tokens_input), sum(tokens_output), sum(cost_microdollars)
        from figures
       where user_name is not null
       group by tenant_id, user_name, day, provider, model_id, team_id, service_name
          on conflict (tenant_id, day, user_name, provider, model_id, team_id, service_name)
          do update set requests = total.requests + excluded.requests,
                        tokens_input = total.tokens_input + excluded.tokens_input,
                        tokens_output = total.tokens_output + excluded.tokens_output,
                        cost_microdollars = total.cost_microdollars + excluded.cost_microdollars
    ),
    end_customers as (
      insert into usage_daily_end_customers as total (
        tenant_id, end_customer, day, provider, model_id, team_id, service_name,
        requests, tokens_input, tokens_output, cost_microdollars)
      select tenant_id, end_customer, day, provider, model_id, team_id, service_name,
             count(*), sum(tokens_input), sum(tokens_output), sum(cost_microdollars)
        from figures
       where end_customer is not null
       group by tenant_id, end_customer, day, provider, model_id, team_id, service_name
          on conflict (tenant_id, day, end_customer, provider, model_id, team_id, service_name)
          do update set requests = total.requests + excluded.requests,
                        tokens_input = total.tokens_input + excluded.tokens_input,
                        tokens_output = total.tokens_output + excluded.tokens_output,
                        cost_microdollars = total.cost_microdollars + excluded.cost_microdollars
    ),
    agents as (
      insert into usage_daily_agents as total (
        tenant_id, agent, day, requests, tokens_input, tokens_output, cost_microdollars)
      select tenant_id, agent, day, count(*), sum(tokens_input), sum(tokens_output), sum(cost_microdollars)
        from figures
       where agent is not null
       group by tenant_id, agent, day
          on conflict (tenant_id, day, agent)
          do update set requests = total.requests + excluded.requests,
                        tokens_input = total.tokens_input + excluded.tokens_input,
                        tokens_output = total.tokens_output + excluded.tokens_output,
                        cost_microdollars = total.cost_microdollars + excluded.cost_microdollars
    ),
    months as (
      insert into usage_months as total (tenant_id, month, requests)
      select tenant_id, date_trunc('month', day)::date as month, count(*)
        from figures
       where refusal is null
       group by tenant_id, month
          on conflict (tenant_id, month) do update set requests = total.requests + excluded.requests
    )
    update api_keys set last_used_at = used.at
      from (select tenant_id, api_key_id, max(created_at) as at from fresh group by 1, 2) used
     where api_keys.tenant_id = used.tenant_id and api_keys.id = used.api_key_id
       and (api_keys.last_used_at is null or api_keys.last_used_at < used.at - interval '30 seconds')`);
}

/** Appends chained records, counts them by day, and moves the heads they end at. The heads are locked by `lockLedgerHeads`. */
export async function insertLedgerRecords(
  db: Db,
  records: readonly LedgerRecord[],
  heads: readonly SignedHead[],
): Promise<void> {
  await db.query(sql`
    with appended as (
      insert into ledger_records (
        tenant_id, sequence_number, id, kind, request_id, provider, model_id, tokens_input, tokens_output,
        cost_microdollars, hierarchy_path, created_at, previous_hash, record_hash, hmac_signature)
      select tenant_id, sequence_number, id, kind, request_id, provider, model_id, tokens_input, tokens_output,
             cost_microdollars, hierarchy_path, created_at, previous_hash, record_hash, hmac_signature
        from json_to_recordset(${JSON.stringify(records)}::json) as record (
          tenant_id uuid, sequence_number bigint, id uuid, kind text, request_id uuid, provider text,
          model_id text, tokens_input bigint, tokens_output bigint, cost_microdollars bigint,
          hierarchy_path text, created_at timestamptz, previous_hash text, record_hash text, hmac_signature text)
      returning tenant_id, sequence_number, created_at
    ),
    days as (
      insert into ledger_days as total (tenant_id, day, records, first_sequence, last_sequence)
      select tenant_id, (created_at at time zone 'UTC')::date as day, count(*),
             min(sequence_number), max(sequence_number)
        from appended
       group by tenant_id, day
          on conflict (tenant_id, day)
          do update set records = total.records + excluded.records,
                        last_sequence = excluded.last_sequence
    )
    update ledger_heads
       set sequence_number = moved.sequence_number,
           record_hash = moved.record_hash,
           hmac_signature = moved.hmac_signature
      from json_to_recordset(${JSON.stringify(heads)}::json) as moved (
        tenant_id uuid, sequence_number bigint, record_hash text, hmac_signature text)
     where ledger_heads.tenant_id = moved.tenant_id`);
}
