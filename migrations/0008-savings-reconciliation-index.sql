-- Savings findings, invoice reconciliation, and the public cost index.

-- ── Fingerprints ───────────────────────────────────────────────────────────────────────────────────────

-- Keyed hashes of the request's body and of its beginning, sixteen bytes each: enough to see that two prompts
-- of one tenant are the same, useless for anything else. Null where there is nothing to compare.
alter table requests
  add column prompt_fingerprint bytea check (octet_length(prompt_fingerprint) = 16),
  add column prefix_fingerprint bytea check (octet_length(prefix_fingerprint) = 16),
  add column long_prefix_fingerprint bytea check (octet_length(long_prefix_fingerprint) = 16);

-- ── Savings ────────────────────────────────────────────────────────────────────────────────────────────

-- What the usage rollups do not know of an hour's requests and the savings analysis needs: how many were of a
-- kind that could cost less. Filled from the request log an hour at a time, so that no analysis reads a month
-- of raw rows. `trait` says which requests are summed; a request can have several traits.
create table savings_traits (
  tenant_id uuid not null,
  hour timestamptz not null,
  provider text not null,
  -- The model whose rate was charged.
  model_id text not null,
  service_name text not null,
  trait text not null check (trait in ('plain', 'short', 'small', 'cacheable', 'duplicate')),
  requests bigint not null,
  cost_microdollars bigint not null,
  tokens_fresh bigint not null,
  tokens_cached bigint not null,
  tokens_written_5m bigint not null,
  tokens_written_1h bigint not null,
  tokens_output bigint not null,
  -- Of cacheable and duplicate ones: those that repeat an earlier one, the rest being the first of their kind.
  repeats bigint not null default 0,
  repeats_cost_microdollars bigint not null default 0,
  repeats_tokens bigint not null default 0,
  firsts_tokens bigint not null default 0,
  primary key (tenant_id, hour, provider, model_id, service_name, trait)
);

create index savings_traits_hour on savings_traits (hour);

-- Which hours are in savings_traits, and since when: one summed before it was quite over is summed again.
create table savings_hours (
  hour timestamptz primary key,
  summed_at timestamptz not null
);

create table savings_findings (
  tenant_id uuid not null references tenants,
  id uuid not null,
  finding_type text not null check (finding_type in (
    'model_downgrade_opportunity', 'small_token_requests', 'underutilized_cache', 'duplicate_prompts', 'idle_models')),
  provider text not null,
  model_id text not null,
  -- The empty text for none, because a key cannot hold null.
  service_name text not null,
  period_start timestamptz not null,
  period_end timestamptz not null,
  current_cost_microdollars bigint not null check (current_cost_microdollars >= 0),
  optimized_cost_microdollars bigint not null check (optimized_cost_microdollars >= 0),
  savings_microdollars bigint not null check (savings_microdollars > 0),
  recommendation_text text not null,
  dismissed_at timestamptz,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
-- One finding per matter. A dismissed one stays as it is, and its place is taken for good.
create unique index savings_findings_matter
  on savings_findings (tenant_id, finding_type, provider, model_id, service_name);

call raise_tenant_wall('savings_traits');
call raise_tenant_wall('savings_findings');

-- ── Reconciliation ─────────────────────────────────────────────────────────────────────────────────────

create table reconciliation_runs (
  tenant_id uuid not null references tenants,
  id uuid not null,
  provider text not null check (provider in ('prov_a', 'prov_b', 'prov_c', 'prov_d')),
  invoice_month date not null,
  status text not null,
  file_name text,
  layout text not null,
  -- Exact to the picodollar, as the provider's file has it.
  invoice_total_usd numeric not null,
  ledger_total_usd numeric not null,
  matched_lines bigint not null,
  unmatched_lines bigint not null,
  shadow_ai_count integer not null,
  -- Figures per model, what did not match, and what names no model.
  detail jsonb not null,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
call raise_tenant_wall('reconciliation_runs');

-- ── The public cost index ──────────────────────────────────────────────────────────────────────────────

-- What each sharing tenant contributes: a histogram of the cost per request. Bins are an eighth of a doubling
-- wide and carry the sum of what fell in, so that a bin can stand for its mean. Kept while a day is running.
create table cost_index_hours (
  tenant_id uuid not null references tenants,
  hour timestamptz not null,
  provider text not null,
  model_id text not null,
  bin smallint not null,
  requests bigint not null,
  cost_microdollars bigint not null,
  primary key (tenant_id, hour, provider, model_id, bin)
);

create index cost_index_hours_hour on cost_index_hours (hour);

call raise_tenant_wall('cost_index_hours');

-- What of a sharing tenant's running day is in a group already, so that nothing is ever in two.
create table cost_index_grouped (
  tenant_id uuid not null references tenants,
  day date not null,
  provider text not null,
  model_id text not null,
  bin smallint not null,
  requests bigint not null,
  cost_microdollars bigint not null,
  primary key (tenant_id, day, provider, model_id, bin)
);
create index cost_index_grouped_day on cost_index_grouped (day);
call raise_tenant_wall('cost_index_grouped');

-- Sums over three or more tenants, of which the published buckets are made. A tenant that leaves takes every sum
-- along that it is in.
create table cost_index_groups (
  day date not null,
  provider text not null,
  model_id text not null,
  members uuid[] not null check (cardinality(members) >= 3),
  -- Of each bin of cost: its number, the requests counted in millionths, and their cost times the same.
  bins jsonb not null,
  primary key (day, provider, model_id, members)
);
create index cost_index_groups_members on cost_index_groups using gin (members);

alter table cost_index_groups enable row level security;
alter table cost_index_groups force row level security;
create policy tenant_wall on cost_index_groups
  using ((select acting_as_system()) or (select acting_tenant()) = any (members));

-- The last day on which a tenant was seen to leave: what it sends counts again from the next one.
create table cost_index_left (
  tenant_id uuid primary key references tenants,
  day date not null
);
call raise_tenant_wall('cost_index_left');

-- A day in here is over for good: whoever joins later changes nothing in it.
create table cost_index_closed_days (day date primary key);

-- What is published, and nothing else: a bucket of too few tenants is not even stored.
create table cost_index_buckets (
  day date not null,
  provider text not null,
  model_id text not null,
  model_family text not null,
  avg_cost_microdollars bigint not null,
  p50_cost_microdollars bigint not null,
  p95_cost_microdollars bigint not null,
  total_requests bigint not null,
  tenant_count integer not null check (tenant_count >= 3),
  primary key (day, provider, model_id)
);
