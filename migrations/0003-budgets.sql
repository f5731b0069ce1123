-- Budgets, what is spent and leased of them, and the approvals that widen them.

create table budgets (
  tenant_id uuid not null references tenants,
  id uuid not null,
  scope_type text not null check (scope_type in ('organization', 'team', 'service', 'agent')),
  -- The team's id or the service's name; null for the organization and for agents.
  scope_id text,
  agent_name text,
  amount_microdollars bigint not null check (amount_microdollars > 0),
  period text not null check (period in ('day', 'week', 'month')),
  mode text not null check (mode in ('soft', 'hard', 'approval')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (tenant_id, id),
  check ((scope_type = 'agent') = (agent_name is not null)),
  check ((scope_type in ('team', 'service')) = (scope_id is not null))
);

-- The one number that is enforced and reported: what the ledger says was spent of a budget in a period. The row
-- is made when first needed, from the rollups, under the lock of the tenant's ledger head; from then on every
-- batch of records adds to it in its own transaction.
create table budget_periods (
  tenant_id uuid not null,
  budget_id uuid not null,
  period_start timestamptz not null,
  committed_microdollars bigint not null check (committed_microdollars >= 0),
  -- Raised when a node is short: every other node gives back what it does not use and says so in its lease.
  recall_number bigint not null default 0,
  primary key (tenant_id, budget_id, period_start),
  foreign key (tenant_id, budget_id) references budgets
);

-- What each node may spend without asking. committed + all leases never passes the limit.
create table budget_leases (
  tenant_id uuid not null,
  budget_id uuid not null,
  period_start timestamptz not null,
  node_id uuid not null,
  amount_microdollars bigint not null check (amount_microdollars >= 0),
  recall_answered bigint not null default 0,
  expires_at timestamptz not null,
  primary key (tenant_id, budget_id, period_start, node_id),
  foreign key (tenant_id, budget_id, period_start) references budget_periods
);
create index budget_leases_node on budget_leases (node_id);

create table budget_approvals (
  tenant_id uuid not null,
  id uuid not null,
  budget_id uuid not null,
  status text not null default 'pending' check (status in ('pending', 'approved', 'denied')),
  requested_at timestamptz not null default now(),
  -- What was refused: its estimate, and what stood against it.
  details jsonb not null default '{}',
  decided_at timestamptz,
  decided_by text,
  extra_microdollars bigint check (extra_microdollars > 0),
  approved_until timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, budget_id) references budgets
);
-- One pending approval per budget, whatever the concurrency.
create unique index budget_approvals_pending on budget_approvals (tenant_id, budget_id) where status = 'pending';
create index budget_approvals_budget on budget_approvals (tenant_id, budget_id);

-- Budgets of agents are filled from here; agents are in no other rollup.
create table usage_daily_agents (
  tenant_id uuid not null,
  agent text not null,
  day date not null,
  requests bigint not null,
  tokens_input bigint not null,
  tokens_output bigint not null,
  cost_microdollars bigint not null,
  primary key (tenant_id, day, agent)
);

call raise_tenant_wall('budgets');
call raise_tenant_wall('budget_periods');
call raise_tenant_wall('budget_leases');
call raise_tenant_wall('budget_approvals');
call raise_tenant_wall('usage_daily_agents');
