// A month of requests, written straight into the database: a million calls would take the proxy a quarter of an hour.
const SERVICES = 6;
const MODELS = ['gpt-4o', 'gpt-4o-mini', 'gpt-5', 'gpt-5-mini', 'gpt-5-nano', 'o3', 'o4-mini', 'gpt-4.1'];

/** After so many requests the same service calls the same model again. */
const EVERY = 24;

/** Puts `count` requests of the last thirty days on record, most of them the first tenant's, and their rollups. */
export async function seedMonth(client, tenantIds, count) {
  await client.query(`select ensure_requests_partition(month::date)
    from generate_series(date_trunc('month', now() - interval '30 days'), now(), interval '1 month') month`);
  await client.query(
    `with model as (
       select row_number() over (order by models.model_id) - 1 as place, count(*) over () as places,
              models.model_id, model_family, prices.id as price_id
         from models
         join lateral (select id from prices where model = models.id order by effective_from desc limit 1) prices on true
        where provider = 'prov_a' and models.model_id = any ($3))
     insert into requests (
       tenant_id, id, created_at, provider, method, endpoint, model_requested, model_id, model_family, stream,
       status_code, tokens_input, tokens_output, usage, usage_source, cost_microdollars, cost_status, price_id,
       latency_total_ms, api_key_id, environment, service_name, prompt_fingerprint, prefix_fingerprint,
       long_prefix_fingerprint)
     select ($1::uuid[])[1 + width_bucket(chance, array[0.6, 0.8, 0.9, 0.95])],
            (left(first_id_at(at)::text, 14) || '7' || substr(hash, 1, 3) || '-8' || substr(hash, 4, 3) || '-'
              || substr(hash, 7, 12))::uuid,
            at, 'prov_a', 'POST', '/v1/chat/completions', model_id, model_id, model_family, n % 2 = 0, 200,
            input + cached, output,
            jsonb_build_object('input', input, 'cached_read', cached, 'cache_write_5m', 0, 'cache_write_1h', 0,
              'audio_input', 0, 'image_input', 0, 'output', output, 'reasoning', 0, 'audio_output', 0,
              'image_output', 0, 'citation', 0, 'audio_milliseconds', 0, 'web_searches', 0, 'search_context', null),
            'provider', input * 2 + cached + output * 8, 'priced', price_id, 900,
            '00000000-0000-7000-8000-000000000001', 'production', 'service-' || n % ${SERVICES},
            -- One prompt in twenty repeats an earlier one of its service and model; long ones begin alike.
            decode(md5('prompt' || (case when n % 20 = 0 then n - ${EVERY} else n end)), 'hex'),
            case when input > 1024 then decode(md5('prefix' || n % ${2 * EVERY}), 'hex') end,
            case when input > 4096 then decode(md5('long' || n % ${4 * EVERY}), 'hex') end
       from generate_series(1, $2::int) n
      cross join lateral (select md5(n::text) as hash, random() as chance, random() as size) drawn
      cross join lateral (
        select date_trunc('milliseconds', now() - interval '30 days' + n * (interval '30 days' / $2::int)) as at,
               (50 + size * size * 8000)::int as input, case when n % 4 = 0 then 1024 else 0 end as cached,
               (10 + size * 900)::int as output) request
       join model on model.place = n % model.places`,
    [tenantIds, count, MODELS],
  );
  await client.query(rollupOf('usage_hourly', 'hour', `date_trunc('hour', created_at, 'UTC')`));
  await client.query(rollupOf('usage_daily', 'day', `(created_at at time zone 'UTC')::date`));
  await client.query(`
    insert into usage_months as total (tenant_id, month, requests)
    select tenant_id, date_trunc('month', day)::date, sum(requests) from usage_daily group by 1, 2
        on conflict (tenant_id, month) do update set requests = excluded.requests`);
  await client.query('analyze');
}

function rollupOf(table, column, expression) {
  return `
    insert into ${table} (
      tenant_id, ${column}, provider, model_id, team_id, service_name, environment, status_code,
      requests, tokens_input, tokens_output, tokens_cached, cost_microdollars, latency_total_ms)
    select tenant_id, ${expression}, provider, model_id, '', service_name, environment, status_code,
           count(*), sum(tokens_input), sum(tokens_output), sum((usage ->> 'cached_read')::bigint),
           sum(cost_microdollars), sum(latency_total_ms)
      from requests
     group by 1, 2, 3, 4, 5, 6, 7, 8`;
}
