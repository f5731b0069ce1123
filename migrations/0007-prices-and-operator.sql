-- Announced price changes, what each tenant made of them, candidates read from price sources, and the running
-- of jobs.

-- ── Price changes ──────────────────────────────────────────────────────────────────────────────────────

-- One row per change that tenants are told of. The texts of both prices are kept here, so that what was
-- announced can be read even when it was never put in force.
create table price_changes (
  id uuid primary key,
  model uuid not null references models,
  -- The price it opened; null when it only tells.
  price_id uuid references prices,
  old_price jsonb not null,
  new_price jsonb not null,
  effective_at timestamptz not null,
  source text not null,
  note text,
  tenants_notified integer not null default 0,
  created_at timestamptz not null default now()
);
create index price_changes_time on price_changes (created_at);
create index price_changes_effective on price_changes (effective_at);

create table price_change_decisions (
  tenant_id uuid not null references tenants,
  change_id uuid not null references price_changes,
  decision text not null check (decision in ('acknowledged', 'dismissed')),
  decided_at timestamptz not null,
  decided_by text not null,
  primary key (tenant_id, change_id)
);
call raise_tenant_wall('price_change_decisions');

-- Requests that wait for a price. Ordinary requests are not in this index and do not pay for it.
create index requests_unpriced on requests (id) where cost_status = 'unpriced';

-- ── Price sources and candidates ───────────────────────────────────────────────────────────────────────

create table price_sources (
  -- Kind and address, as configured.
  source text primary key,
  last_run_at timestamptz,
  last_success_at timestamptz,
  last_error text,
  -- Which known models it priced at its last success: a page that suddenly has far fewer has changed.
  models_found text[] not null default '{}',
  skipped text[] not null default '{}'
);

create table pricing_candidates (
  id uuid primary key,
  provider text not null check (provider in ('prov_a', 'prov_b', 'prov_c', 'prov_d')),
  model_id text not null,
  model_family text,
  context_window bigint check (context_window > 0),
  old_price jsonb,
  -- Only the rates the source states, as decimal texts; they may be negative or of another currency, which
  -- is why they can be looked at here and not put in force.
  new_rates jsonb not null,
  currency text not null,
  source text not null,
  excerpt text not null,
  flags text[] not null,
  status text not null default 'pending' check (status in ('pending', 'approved', 'rejected', 'superseded')),
  created_at timestamptz not null default now(),
  decided_at timestamptz
);
-- What waits or was turned down is not offered again. What was approved may be: prices go back and forth.
create unique index pricing_candidates_offer
  on pricing_candidates (provider, model_id, source, currency, md5(new_rates::text))
  where status in ('pending', 'rejected');
create index pricing_candidates_status on pricing_candidates (status, id);

-- ── Jobs ───────────────────────────────────────────────────────────────────────────────────────────────

-- The scheduled tasks and how they last went, over all nodes.
create table job_runs (
  name text primary key,
  schedule text not null,
  last_started_at timestamptz,
  last_finished_at timestamptz,
  last_error text,
  last_duration_ms bigint
);

-- The queue's tables are closed to everyone but their owner. This door shows how much waits, and nothing of
-- what is in the jobs.
create function job_queue_depths() returns table (
  task text, ready bigint, running bigint, scheduled bigint, retrying bigint, failed bigint,
  oldest_ready_at timestamptz, last_error text)
language plpgsql security definer set search_path = pg_catalog as $$
begin
  return query
    select jobs.task_identifier,
           count(*) filter (where locked_at is null and attempts < max_attempts and run_at <= now()),
           count(*) filter (where locked_at is not null),
           count(*) filter (where locked_at is null and attempts < max_attempts and run_at > now()),
           count(*) filter (where locked_at is null and attempts between 1 and max_attempts - 1),
           count(*) filter (where locked_at is null and attempts >= max_attempts),
           min(run_at) filter (where locked_at is null and attempts < max_attempts and run_at <= now()),
           left((array_agg(jobs.last_error order by updated_at desc) filter (where jobs.last_error is not null))[1], 500)
      from graphile_worker.jobs
     group by jobs.task_identifier
     order by jobs.task_identifier;
end $$;
revoke all on function job_queue_depths() from public;
