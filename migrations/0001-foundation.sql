-- Tenants, keys, teams, audit, prices, the request log, the ledger and its rollups.
-- Every tenant-owned key begins with tenant_id, so that the same schema can be spread over many servers.

-- ── Tenants ────────────────────────────────────────────────────────────────────────────────────────────

create table tenants (
  tenant_id uuid primary key,
  name text not null,
  email text not null,
  password_hash text not null,
  plan_tier text not null default 'free',
  status text not null default 'active' check (status in ('active', 'cancelled', 'suspended')),
  included_requests bigint not null default 10000 check (included_requests >= 0),
  digest_enabled boolean not null default true,
  data_share_enabled boolean not null default false,
  -- Sealed with the tenant's data key: a chat hook address is a credential.
  chat_webhook_sealed bytea,
  -- The tenant's own data key, wrapped by the deployment's master key.
  data_key_wrapped bytea not null,
  -- Tokens issued before this instant are refused: a password change ends every earlier session.
  tokens_valid_from timestamptz not null default '-infinity',
  notes text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index tenants_email on tenants (lower(email));

create table revoked_tokens (
  tenant_id uuid not null references tenants,
  jti uuid not null,
  expires_at timestamptz not null,
  primary key (tenant_id, jti)
);
create index revoked_tokens_expiry on revoked_tokens (expires_at);

create table password_resets (
  tenant_id uuid not null references tenants,
  -- Only the hash: a stolen table resets nobody's password.
  token_hash bytea not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, token_hash)
);
create index password_resets_token on password_resets (token_hash);

create table teams (
  tenant_id uuid not null references tenants,
  id uuid not null,
  name text not null,
  slug text not null,
  cost_center text,
  created_at timestamptz not null default now(),
  -- Deleted teams stay for the records that name them.
  deleted_at timestamptz,
  primary key (tenant_id, id)
);
create unique index teams_slug on teams (tenant_id, slug) where deleted_at is null;

create table api_keys (
  tenant_id uuid not null references tenants,
  id uuid not null,
  name text not null,
  environment text not null check (environment in ('production', 'test')),
  prefix text not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  team_id uuid,
  service_name text,
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, team_id) references teams
);
create unique index api_keys_hash on api_keys (key_hash);

create table provider_keys (
  tenant_id uuid not null references tenants,
  id uuid not null,
  provider text not null check (provider in ('prov_a', 'prov_b', 'prov_c', 'prov_d')),
  key_version integer not null default 1,
  key_sealed bytea not null,
  last_rotated_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create unique index provider_keys_active on provider_keys (tenant_id, provider) where revoked_at is null;

create table audit_entries (
  tenant_id uuid not null,
  id uuid not null,
  actor_type text not null,
  actor_id text,
  action text not null,
  resource_type text,
  resource_id text,
  ip_address text,
  details jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);

-- What changed in the state that proxies hold in memory. Announced by NOTIFY and read by polling too, so
-- that a listener which died without a word still hears within a second.
create table control_changes (
  id bigint generated always as identity primary key,
  subject text not null,
  changed_at timestamptz not null default clock_timestamp()
);
create index control_changes_time on control_changes (changed_at);

-- ── Models and prices ──────────────────────────────────────────────────────────────────────────────────

create table models (
  id uuid primary key,
  provider text not null check (provider in ('prov_a', 'prov_b', 'prov_c', 'prov_d')),
  model_id text not null,
  model_family text not null,
  context_window bigint check (context_window > 0),
  status text not null default 'active' check (status in ('active', 'deprecated', 'inactive')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (provider, model_id)
);

-- Prices are never changed, only succeeded: the row in force is the newest whose time has come.
create table prices (
  id uuid primary key,
  model uuid not null references models,
  effective_from timestamptz not null,
  price jsonb not null,
  source text not null,
  created_at timestamptz not null default now(),
  unique (model, effective_from)
);

-- ── The request log ────────────────────────────────────────────────────────────────────────────────────

-- Ids are time-ordered (UUIDv7), so a month is a range of ids. Partitions are made by the ingest as months
-- come up.
create table requests (
  tenant_id uuid not null,
  id uuid not null,
  created_at timestamptz not null,
  provider text not null,
  method text not null,
  endpoint text not null,
  model_requested text,
  model_id text,
  model_family text,
  stream boolean not null,
  status_code integer not null,
  refusal text,
  tokens_input bigint not null check (tokens_input >= 0),
  tokens_output bigint not null check (tokens_output >= 0),
  usage jsonb not null,
  usage_source text not null check (usage_source in ('provider', 'estimated', 'none')),
  cost_microdollars bigint not null check (cost_microdollars >= 0),
  cost_status text not null check (cost_status in ('priced', 'free', 'unpriced')),
  price_id uuid,
  service_tier text,
  region text,
  anomalies jsonb not null default '[]',
  interrupted boolean not null default false,
  latency_total_ms integer not null,
  latency_first_byte_ms integer,
  api_key_id uuid not null,
  environment text not null,
  team_id uuid,
  service_name text,
  agent text,
  user_name text,
  end_customer text,
  tags jsonb not null default '{}',
  headers jsonb not null default '{}',
  sequence_number bigint,
  record_hash text,
  primary key (tenant_id, id)
) partition by range (id);
-- From a user or an end customer to their requests. Requests that name none do not pay for it.
create index requests_of_user on requests (tenant_id, user_name, id) where user_name is not null;
create index requests_of_end_customer on requests (tenant_id, end_customer, id) where end_customer is not null;

-- The smallest time-ordered id of an instant: a range of time is a range of ids.
create function first_id_at(instant timestamptz) returns uuid language sql immutable parallel safe as $$
  select (lpad(to_hex((extract(epoch from instant) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Runs with its owner's rights: making a partition needs to own the table, inserting into it does not.
create function ensure_requests_partition(month date) returns void
language plpgsql security definer set search_path from current as $$
declare
  partition_name text := 'requests_' || to_char(month, 'YYYY_MM');
begin
  if to_regclass(partition_name) is not null then return; end if;
  perform pg_advisory_xact_lock(hashtext('requests partition'));
  execute format(
    'create table if not exists %I partition of requests for values from (%L) to (%L)',
    partition_name,
    first_id_at(month::timestamp at time zone 'UTC'),
    first_id_at((month + interval '1 month') at time zone 'UTC'));
end $$;

-- ── The ledger ─────────────────────────────────────────────────────────────────────────────────────────

create table ledger_records (
  tenant_id uuid not null,
  sequence_number bigint not null check (sequence_number > 0),
  id uuid not null,
  kind text not null check (kind in ('request', 'correction')),
  request_id uuid not null,
  provider text not null,
  model_id text not null,
  tokens_input bigint not null,
  tokens_output bigint not null,
  cost_microdollars bigint not null,
  hierarchy_path text not null,
  created_at timestamptz(3) not null,
  previous_hash text not null,
  record_hash text not null,
  hmac_signature text not null,
  primary key (tenant_id, sequence_number)
);
create index ledger_records_time on ledger_records (tenant_id, created_at);

-- Where each chain ends, signed: the record that a truncated tail lacks.
create table ledger_heads (
  tenant_id uuid primary key,
  sequence_number bigint not null default 0,
  record_hash text not null,
  hmac_signature text not null
);

-- How many records a tenant's ledger has of each UTC day, and where in the chain they are.
create table ledger_days (
  tenant_id uuid not null,
  day date not null,
  records bigint not null,
  first_sequence bigint not null,
  last_sequence bigint not null,
  primary key (tenant_id, day)
);

create function refuse_ledger_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger records are never changed or removed' using errcode = 'restrict_violation';
end $$;
create trigger ledger_records_immutable before update or delete on ledger_records
  for each row execute function refuse_ledger_change();
create trigger ledger_records_no_truncate before truncate on ledger_records
  for each statement execute function refuse_ledger_change();

-- ── Rollups ────────────────────────────────────────────────────────────────────────────────────────────
-- Written in the transaction that writes the records; reports read only these. A dimension that a request
-- does not have is the empty text, because a key cannot hold null.

create table usage_hourly (
  tenant_id uuid not null,
  hour timestamptz not null,
  provider text not null,
  model_id text not null,
  team_id text not null,
  service_name text not null,
  environment text not null,
  status_code integer not null,
  requests bigint not null,
  tokens_input bigint not null,
  tokens_output bigint not null,
  tokens_cached bigint not null,
  cost_microdollars bigint not null,
  latency_total_ms bigint not null,
  primary key (tenant_id, hour, provider, model_id, team_id, service_name, environment, status_code)
);

create table usage_daily (
  tenant_id uuid not null,
  day date not null,
  provider text not null,
  model_id text not null,
  team_id text not null,
  service_name text not null,
  environment text not null,
  status_code integer not null,
  requests bigint not null,
  tokens_input bigint not null,
  tokens_output bigint not null,
  tokens_cached bigint not null,
  cost_microdollars bigint not null,
  latency_total_ms bigint not null,
  primary key (tenant_id, day, provider, model_id, team_id, service_name, environment, status_code)
);

create table usage_daily_users (
  tenant_id uuid not null,
  user_name text not null,
  day date not null,
  provider text not null,
  model_id text not null,
  team_id text not null,
  service_name text not null,
  requests bigint not null,
  tokens_input bigint not null,
  tokens_output bigint not null,
  cost_microdollars bigint not null,
  primary key (tenant_id, day, user_name, provider, model_id, team_id, service_name)
);
create index usage_daily_users_one on usage_daily_users (tenant_id, user_name, day);

create table usage_daily_end_customers (
  tenant_id uuid not null,
  end_customer text not null,
  day date not null,
  provider text not null,
  model_id text not null,
  team_id text not null,
  service_name text not null,
  requests bigint not null,
  tokens_input bigint not null,
  tokens_output bigint not null,
  cost_microdollars bigint not null,
  primary key (tenant_id, day, end_customer, provider, model_id, team_id, service_name)
);
create index usage_daily_end_customers_one on usage_daily_end_customers (tenant_id, end_customer, day);

-- Calls that reached a provider, per plan month.
create table usage_months (
  tenant_id uuid not null,
  month date not null,
  requests bigint not null,
  primary key (tenant_id, month)
);

-- ── Row-level security: the wall behind the tenant_id in every statement ───────────────────────────────
-- A transaction names the tenant it acts for, or 'system' for the program's own work. Nothing named, nothing
-- seen. Forced, so that it binds the owner of the tables too. The settings are read once per statement (the
-- inner selects), not once per row.

create function acting_tenant() returns uuid language sql stable parallel safe as
  $$ select nullif(nullif(current_setting('gateway.tenant_id', true), 'system'), '')::uuid $$;
create function acting_as_system() returns boolean language sql stable parallel safe as
  $$ select coalesce(current_setting('gateway.tenant_id', true), '') = 'system' $$;

create procedure raise_tenant_wall(table_name text) language plpgsql as $$
begin
  execute format('alter table %I enable row level security', table_name);
  execute format('alter table %I force row level security', table_name);
  execute format(
    'create policy tenant_wall on %I using ((select acting_as_system()) or tenant_id = (select acting_tenant()))',
    table_name);
end $$;

call raise_tenant_wall('tenants');
call raise_tenant_wall('revoked_tokens');
call raise_tenant_wall('password_resets');
call raise_tenant_wall('teams');
call raise_tenant_wall('api_keys');
call raise_tenant_wall('provider_keys');
call raise_tenant_wall('audit_entries');
call raise_tenant_wall('requests');
call raise_tenant_wall('ledger_records');
call raise_tenant_wall('ledger_heads');
call raise_tenant_wall('ledger_days');
call raise_tenant_wall('usage_hourly');
call raise_tenant_wall('usage_daily');
call raise_tenant_wall('usage_daily_users');
call raise_tenant_wall('usage_daily_end_customers');
call raise_tenant_wall('usage_months');
