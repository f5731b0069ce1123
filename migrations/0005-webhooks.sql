-- Webhook endpoints, their deliveries, and every attempt at each.

-- An endpoint that the service itself gave up on is an alert too.
alter table alerts drop constraint alerts_alert_type_check;
alter table alerts add constraint alerts_alert_type_check check (
  alert_type in ('budget_threshold', 'cost_anomaly', 'model_change', 'pricing_change', 'webhook_disabled'));
-- The list, newest first, is read by id; the active ones are few among many.
create index alerts_unacknowledged on alerts (tenant_id, id) where not acknowledged;

-- Set when its deliveries, mail and chat message were queued, in that same transaction: a job that runs twice
-- queues them once.
alter table events add column fanned_out_at timestamptz;

create table webhooks (
  tenant_id uuid not null references tenants,
  id uuid not null,
  url text not null,
  event_types text[] not null check (cardinality(event_types) > 0),
  active boolean not null default true,
  -- Why the service set it inactive; null when the tenant did, or nobody.
  disabled_reason text check (disabled_reason in ('failing', 'gone')),
  -- Sealed with the tenant's data key.
  secret_sealed bytea not null,
  -- After a rotation the old secret signs beside the new one for a while.
  previous_secret_sealed bytea,
  previous_secret_valid_until timestamptz,
  last_delivery_at timestamptz,
  last_status text check (last_status in ('success', 'failed')),
  -- The first failure since the last success.
  failing_since timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  check (not active or disabled_reason is null),
  check ((previous_secret_sealed is null) = (previous_secret_valid_until is null))
);

create table webhook_deliveries (
  tenant_id uuid not null,
  id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
  -- How many attempts of the schedule were made; those asked for by hand are not of the schedule.
  scheduled_attempts integer not null default 0,
  next_retry_at timestamptz,
  -- A node is at it until then. Past that the node is dead, and another may try.
  claimed_until timestamptz,
  delivered_at timestamptz,
  -- Why it failed before its schedule was over.
  given_up_reason text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, webhook_id, event_id),
  foreign key (tenant_id, webhook_id) references webhooks on delete cascade,
  foreign key (tenant_id, event_id) references events,
  check ((status = 'succeeded') = (delivered_at is not null)),
  check (status = 'pending' or claimed_until is null)
);
-- Deliveries are the queue that senders take from; only what is still due is in it.
create index webhook_deliveries_due on webhook_deliveries (tenant_id, webhook_id, next_retry_at)
  where status = 'pending' and next_retry_at is not null;
create index webhook_deliveries_newest on webhook_deliveries (tenant_id, webhook_id, id);
create index webhook_deliveries_claimed on webhook_deliveries (tenant_id, webhook_id)
  where claimed_until is not null;

create table webhook_attempts (
  tenant_id uuid not null,
  delivery_id uuid not null,
  number integer not null check (number > 0),
  attempted_at timestamptz not null,
  duration_ms integer not null,
  status_code integer,
  error_message text,
  primary key (tenant_id, delivery_id, number),
  foreign key (tenant_id, delivery_id) references webhook_deliveries on delete cascade
);

call raise_tenant_wall('webhooks');
call raise_tenant_wall('webhook_deliveries');
call raise_tenant_wall('webhook_attempts');
