-- The live tail's order of events, what was seen of served models, and which weekly digests went out.

-- Where each tenant's live tail ends. Whoever holds the row is the only one to add events, so positions have no
-- gap and become visible in their order: a reader that knows the last position it saw can miss nothing.
create table tail_heads (
  tenant_id uuid primary key,
  position bigint not null
);

-- The newest events of a tenant, a batch of requests or one alert to a row; the events themselves lie in the
-- request log and in events. A batch ends at its position and begins where the one before it ended.
create table tail_batches (
  tenant_id uuid not null,
  position bigint not null,
  request_ids uuid[],
  event_id uuid,
  primary key (tenant_id, position),
  check (num_nonnulls(request_ids, event_id) = 1)
);

-- The place an event has got on the live tail: delivering it a second time gives it no second place.
alter table events add column tail_position bigint;

-- Which models have answered for a name that was asked for.
create table model_sightings (
  tenant_id uuid not null,
  provider text not null,
  model_requested text not null,
  model_served text not null,
  first_seen_at timestamptz not null,
  primary key (tenant_id, provider, model_requested, model_served)
);

-- One digest per tenant and week, however often the job runs. The week is its Monday.
create table digests (
  tenant_id uuid not null references tenants,
  week date not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, week)
);

call raise_tenant_wall('tail_heads');
call raise_tenant_wall('tail_batches');
call raise_tenant_wall('model_sightings');
call raise_tenant_wall('digests');
