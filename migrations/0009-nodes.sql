-- The processes that are running, as they last said themselves.

create table nodes (
  node_id uuid primary key,
  role text not null,
  started_at timestamptz not null,
  last_seen_at timestamptz not null
);
