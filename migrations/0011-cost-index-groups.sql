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

-- Days that are closed become one group for each bucket that is shown; today is put together anew.
insert into cost_index_groups (day, provider, model_id, members, bins)
select day, provider, model_id, (
         select array_agg(distinct tenant_id order by tenant_id) from cost_index_days member
          where (member.day, member.provider, member.model_id) = (bins.day, bins.provider, bins.model_id)),
       jsonb_agg(jsonb_build_array(bin, weight::text, weighted_cost::text) order by bin)
  from (
    select day, provider, model_id, bin,
           sum(div(requests * counted * 1000000::numeric, own)) as weight,
           sum(div(cost_microdollars * counted * 1000000::numeric, own)) as weighted_cost
      from cost_index_days
      join (
        select tenant_id, day, provider, model_id, sum(requests) as own,
               least(sum(requests), sum(sum(requests)) over (partition by day, provider, model_id) - sum(requests))
                 as counted
          from cost_index_days
         group by tenant_id, day, provider, model_id) tenant using (tenant_id, day, provider, model_id)
     where (day, provider, model_id) in (select day, provider, model_id from cost_index_buckets)
     group by day, provider, model_id, bin) bins
 group by day, provider, model_id;
delete from cost_index_buckets where day not in (select day from cost_index_closed_days);
drop table cost_index_days;
