-- Kill switches, spend quotas, and what the checks of quotas and plans have told already.

create table kill_switches (
  tenant_id uuid not null references tenants,
  id uuid not null,
  scope_type text not null check (scope_type in ('team', 'service', 'agent', 'api_key', 'all')),
  -- As it was asked for; of a key never more than its prefix.
  scope_value text not null,
  -- The team meant, so that a team renamed later stays stopped.
  team_id uuid,
  reason text,
  activated_by text not null,
  activated_at timestamptz not null,
  deactivated_by text,
  deactivated_at timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, team_id) references teams,
  check ((deactivated_at is null) = (deactivated_by is null))
);
create index kill_switches_active on kill_switches (tenant_id) where deactivated_at is null;

create table spend_quotas (
  tenant_id uuid not null references tenants,
  id uuid not null,
  dimension_type text not null
    check (dimension_type in ('model', 'team', 'service', 'end_customer', 'tenant_total')),
  dimension_value text not null,
  period text not null check (period in ('day', 'week', 'month')),
  limit_microdollars bigint not null check (limit_microdollars > 0),
  alert_thresholds integer[] not null,
  enabled boolean not null,
  -- The period last looked at, and the highest threshold told in it. Null until the first look, which tells
  -- the highest threshold passed and no other.
  told_period_start timestamptz,
  told_threshold integer not null default 0,
  -- The end of the tenant's ledger at the last look: where it has not moved, nothing was spent.
  checked_sequence bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  check ((dimension_type = 'tenant_total') = (dimension_value = ''))
);
create index spend_quotas_enabled on spend_quotas (period) where enabled;

-- Plans are checked a month at a time, over all tenants.
create index usage_months_month on usage_months (month);

call raise_tenant_wall('kill_switches');
call raise_tenant_wall('spend_quotas');
