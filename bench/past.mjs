// A past of any size for a tenant, written by SQL alone: a million calls through the proxy would take an hour.
// The rows have what the pages read; their hashes are made up, so the ledger of such a tenant does not verify.
import pg from 'pg';

const DAYS = 30;
/** One service has one team and three models, a user or a customer two services: not every pair occurs. */
const SERVICES = 20;
const TEAMS = 8;
const USERS = 500;
const CUSTOMERS = 200;
const TABLES = [
  'requests',
  'ledger_records',
  'usage_hourly',
  'usage_daily',
  'usage_daily_users',
  'usage_daily_end_customers',
];

/** Writes so many requests of the last thirty days into the log, the ledger and every rollup. */
export async function writePast(databaseUrl, tenantId, { count, teamIds, keyId }) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      `set search_path = gateway; set gateway.tenant_id = 'system'; set statement_timeout = 0`,
    );
    await client.query(`
      select ensure_requests_partition(month::date)
        from generate_series(date_trunc('month', now() - interval '${DAYS + 1} days'), now(), interval '1 month') month`);
    const last = await writeRequests(client, tenantId, { count, teamIds, keyId });
    await writeRollups(client, tenantId);
    await client.query(
      `insert into ledger_heads values ($1, $2, $3, '') on conflict (tenant_id) do update
          set sequence_number = excluded.sequence_number, record_hash = excluded.record_hash`,
      [tenantId, count, last],
    );
    // What the server does by itself while a log grows.
    for (const table of TABLES) await client.query(`vacuum analyze ${table}`);
  } finally {
    await client.end();
  }
}

/** In the order of time, so that ids and places in the ledger go up together. */
async function writeRequests(client, tenantId, { count, teamIds, keyId }) {
  await client.query(
    `with call as (
       select n, now() - interval '1 minute' - interval '${DAYS - 1} days' * (1 - n::float8 / $2) as at,
              (hashint8(n) & 1048575) as dice, (hashint8(n * 31 + 7) & 1048575) as second_dice
         from generate_series(1, $2::bigint) n),
     told as (
       select *, dice % ${USERS} as user_number, dice % ${CUSTOMERS} as customer_number,
              (dice + (second_dice % 2) * 7) % ${SERVICES} as service_number from call),
     made as (
       select *, (left(first_id_at(at)::text, 14) || '7' || substr(md5(n::text || $1), 1, 3) || '-8'
                 || substr(md5(n::text), 1, 3) || '-' || substr(md5('x' || n), 1, 12))::uuid as id,
              'model-' || (service_number * 3 + second_dice % 3) % 12 as model,
              ($3::uuid[])[service_number % ${TEAMS} + 1] as team,
              case when second_dice % 97 = 0 then 500 when second_dice % 41 = 0 then 429 else 200 end as status,
              md5(n::text) || md5('h' || n) as hash
         from told),
     logged as (
       insert into requests (
         tenant_id, id, created_at, provider, method, endpoint, model_requested, model_id, model_family, stream,
         status_code, tokens_input, tokens_output, usage, usage_source, cost_microdollars, cost_status,
         latency_total_ms, latency_first_byte_ms, api_key_id, environment, team_id, service_name, user_name,
         end_customer, tags, headers, sequence_number, record_hash)
       select $1::uuid, id, at, 'prov_a', 'POST', '/v1/chat/completions', model, model, model, dice % 2 = 0,
              status, 500 + dice % 4000, 100 + second_dice % 900, '{"input": 500, "output": 100}', 'provider',
              1000 + dice % 20000, 'priced', 300 + second_dice % 5000, 200, $4::uuid, 'production', team,
              'service-' || service_number, 'user-' || user_number, 'customer-' || customer_number,
              '{}', '{"user-agent": "bench"}', n, hash
         from made)
     insert into ledger_records
     select $1::uuid, n, id, 'request', id, 'prov_a', model, 500, 100, 1000 + dice % 20000,
            'service-' || service_number, at, hash, hash, hash
       from made`,
    [tenantId, count, teamIds, keyId],
  );
  const { rows } = await client.query(
    'select record_hash from ledger_records where tenant_id = $1 and sequence_number = $2',
    [tenantId, count],
  );
  return rows[0].record_hash;
}

async function writeRollups(client, tenantId) {
  await client.query(
    `insert into ledger_days
     select tenant_id, (created_at at time zone 'UTC')::date, count(*), min(sequence_number), max(sequence_number)
       from ledger_records where tenant_id = $1 group by 1, 2`,
    [tenantId],
  );
  const dimensions = `provider, coalesce(model_id, ''), coalesce(team_id::text, ''), coalesce(service_name, '')`;
  const sums = 'count(*), sum(tokens_input), sum(tokens_output)';
  for (const [table, bucket] of [
    ['usage_hourly', `date_trunc('hour', created_at, 'UTC')`],
    ['usage_daily', `(created_at at time zone 'UTC')::date`],
  ]) {
    await client.query(
      `insert into ${table}
       select tenant_id, ${bucket}, ${dimensions}, environment, status_code, ${sums}, 0, sum(cost_microdollars),
              sum(latency_total_ms)
         from requests where tenant_id = $1 group by 1, 2, 3, 4, 5, 6, 7, 8`,
      [tenantId],
    );
  }
  for (const [table, person] of [
    ['usage_daily_users', 'user_name'],
    ['usage_daily_end_customers', 'end_customer'],
  ]) {
    await client.query(
      `insert into ${table}
       select tenant_id, ${person}, (created_at at time zone 'UTC')::date, ${dimensions}, ${sums},
              sum(cost_microdollars)
         from requests where tenant_id = $1 group by 1, 2, 3, 4, 5, 6, 7`,
      [tenantId],
    );
  }
}
