// The tables of an organization's schema that hold the state of its records and runs, next to the record tables themselves.

/** Creates what is missing. Names are unqualified: set the search path to the organization's schema first. */
export const createStateTables = `
-- One row per record type: which table readers see, and its generation.
create table if not exists record_state (
  record_type text primary key,
  id_type text not null,
  generation bigint not null default 0,
  row_count bigint not null default 0,
  epoch text,
  active_table text,
  next_table integer not null default 1,
  high_water timestamptz,
  published_run uuid,
  synced_at timestamptz,
  reconciled_at timestamptz,
  -- The fields that the ERP offered to the last run, by name, with their types.
  erp_fields jsonb
);
-- Which physical column holds which field. A column is 'loading' until a complete full run has filled it.
create table if not exists record_columns (
  record_type text not null,
  column_name text not null,
  field text not null,
  part text not null check (part in ('value', 'label', 'lines')),
  type text not null,
  state text not null check (state in ('loading', 'live', 'vanished', 'replaced')),
  line_fields jsonb,
  position integer not null,
  primary key (record_type, column_name)
);
-- The progress of each run; a page and its checkpoint are written together.
create table if not exists run_state (
  run_id uuid primary key,
  record_type text not null,
  lease_epoch integer not null,
  target_table text not null,
  columns jsonb not null,
  page integer not null default 0,
  checkpoint text,
  complete boolean not null default false,
  counters jsonb not null default '{}',
  plan jsonb,
  outcome jsonb,
  started_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- Records that could not be stored; a row stays until the record can be stored or the ERP no longer returns it.
create table if not exists rejections (
  record_type text not null,
  id text not null,
  code text not null,
  message text not null,
  run_id uuid not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  attempts integer not null default 1,
  last_run_id uuid,
  primary key (record_type, id)
);
create table if not exists tombstones (
  record_type text not null,
  id text not null,
  generation bigint not null,
  deleted_at timestamptz not null default now(),
  primary key (record_type, id)
);
create index if not exists tombstones_by_generation on tombstones (record_type, generation, id);
-- The generation up to which tombstones were deleted: a client with an older generation can no longer get all deletions.
create table if not exists pruned_tombstones (
  record_type text primary key,
  generation bigint not null
);
-- The indexes that published versions need; every table that becomes active has them.
create table if not exists record_indexes (
  record_type text not null,
  method text not null check (method in ('btree', 'gin')),
  expression text not null,
  primary key (record_type, method, expression)
);
-- Records that a run found absent in the ERP, and the proof: the ERP's deletion feed, an approval, or absence alone.
create table if not exists staged_deletions (
  run_id uuid not null,
  record_type text not null,
  id text not null,
  proof text not null check (proof in ('feed', 'approved', 'absent')),
  primary key (run_id, id)
);
-- Ids of the records that a complete read found equal to those that readers see, page by page.
create table if not exists staged_unchanged (
  run_id uuid not null,
  page integer not null,
  record_type text not null,
  ids text[] not null,
  primary key (run_id, page)
);
-- Absent records that stay until their deletion is approved ('open'), or because the configuration deletes nothing ('kept').
create table if not exists deletion_proposals (
  id uuid primary key,
  record_type text not null,
  ids text[] not null,
  evidence jsonb not null,
  status text not null default 'open' check (status in ('open', 'kept', 'superseded', 'approved', 'applied')),
  created_at timestamptz not null default now(),
  closed_at timestamptz
);
create unique index if not exists one_open_proposal on deletion_proposals (record_type) where status in ('open', 'kept');
-- Changes of the ERP's fields that are not delivered to drift_events yet; rows are deleted on delivery.
create table if not exists drift_outbox (
  id uuid primary key,
  record_type text not null,
  kind text not null check (kind in ('added', 'vanished', 'retyped')),
  field text not null,
  from_type text,
  to_type text,
  run_id uuid not null,
  at timestamptz not null default clock_timestamp()
);
-- Tables that were swapped out, dropped once no reader can still use their name.
create table if not exists retired_tables (
  table_name text primary key,
  retired_at timestamptz not null default now()
)`;
