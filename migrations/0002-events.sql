-- Alerts and the events that carry them to people and programs.

create table alerts (
  tenant_id uuid not null references tenants,
  id uuid not null,
  alert_type text not null check (alert_type in ('budget_threshold', 'cost_anomaly', 'model_change', 'pricing_change')),
  severity text not null check (severity in ('info', 'warning', 'critical')),
  title text not null,
  metadata jsonb not null default '{}',
  -- What caused it, spelled out. Unique, so that one cause raises one alert however many nodes see it.
  cause text not null,
  acknowledged boolean not null default false,
  acknowledged_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create unique index alerts_cause on alerts (tenant_id, cause);

-- What happened, written in the transaction that made it happen. A job, added in the same transaction, takes
-- it to webhooks, mail, chat and the live tail.
create table events (
  tenant_id uuid not null references tenants,
  id uuid not null,
  type text not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);

call raise_tenant_wall('alerts');
call raise_tenant_wall('events');
