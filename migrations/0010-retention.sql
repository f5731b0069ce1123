-- Forgetting old requests. Whole months go as tables; of the month the line runs through, the rows before it.
-- Runs with its owner's rights, as making partitions does. The ledger and the rollups stay.

create function forget_requests_before(day date) returns bigint
language plpgsql security definer set search_path from current as $$
declare
  partition_name text;
  forgotten bigint := 0;
begin
  for partition_name in
    select child.relname
      from pg_inherits
      join pg_class child on child.oid = inhrelid
     where inhparent = 'requests'::regclass
       and to_date(right(child.relname, 7), 'YYYY_MM') + interval '1 month' <= day
  loop
    execute format('drop table %I', partition_name);
    forgotten := forgotten + 1;
  end loop;
  perform set_config('gateway.tenant_id', 'system', true);
  delete from requests where id < first_id_at(day::timestamp at time zone 'UTC');
  return forgotten;
end $$;
