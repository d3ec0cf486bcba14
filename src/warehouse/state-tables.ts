// The tables of an organization's schema that hold the state of its records and runs, next to the record
// tables themselves.

/**
 * Statements that create what is missing, each for a call of its own: Citus refuses several in one string.
 * Names are unqualified: set the search path to the organization's schema first.
 */
export const createStateTables: readonly string[] = `
-- One row per record type: which table readers see, and its generation.
create table if not exists record_state (
  record_type text primary key,
  id_type text not null,
  generation bigint not null default 0,
  row_count bigint not null default 0,
  epoch text,
  -- The server and its timeline on which generations were last published; a promotion makes a new timeline. Null until the first publish.
  timeline text,
  -- Epochs of earlier timelines, oldest first, each with the last generation that the next timeline has of it: [{"epoch", "until"}].
  former_epochs jsonb not null default '[]',
  active_table text,
  next_table integer not null default 1,
  high_water timestamptz,
  -- From which the next run lists the changes that the ERP tracks; null where changes are found otherwise.
  change_token text constraint record_state_token_check check (change_token <> ''),
  published_run uuid,
  synced_at timestamptz,
  -- The ERP's clock at the start of the last scan or full read, and the database's clock then.
  reconciled_at timestamptz,
  compared_at timestamptz,
  -- The ERP's calendar day of the last scan or full read.
  scanned_on date,
  -- The filter of the sync configuration by which the last published run read; null for all records.
  filter jsonb,
  -- The fields that the ERP offered to the last run, by name, with their types.
  erp_fields jsonb,
  -- By API version: the columns that it shows, as [{"column", "lineFields"?}]. Null until an older database has been moved over: then every
  -- column counts as shown. Versions are entered before they go live and stay.
  shown_columns jsonb,
  -- Fields whose stored values may be out of date, by name: {"since", "syncedAt", "reason": "unreadable" or "empty", "message"}.
  stale_fields jsonb not null default '{}',
  -- Fields that an administrator accepted as missing, by name: {"at", "reason"}.
  accepted_fields jsonb not null default '{}',
  -- The columns by which versions allow row scopes, and "id", each with a generation as text: changes after it are in scope_changes.
  scope_columns jsonb not null default '{"id": "0"}',
  -- The generation up to which entries of scope_changes were deleted.
  scope_pruned bigint not null default 0,
  -- {"listed", "day", "rows", "unconfirmed"}: whether the ERP's list of deletions has named any; the ERP's last day, the number of records when it
  -- began, and its unconfirmed deletions. Null before the first run that compares.
  deletion_history jsonb
);
-- The rolling full read of a record type: a pass over all records in slices, each within an incremental run.
create table if not exists rolling_reads (
  record_type text primary key,
  -- The ERP's clock at the start of the pass; null between two passes.
  pass_started_at timestamptz,
  -- The id up to which the pass has read; null at its start.
  cursor_id text,
  records bigint not null default 0,
  pages integer not null default 0,
  -- The ERP's clock at the start of the last complete pass or full run: every record was read in full at or after it.
  complete_since timestamptz,
  -- The ERP's clock at the start of the last run that read a part of the pass; null between two passes.
  last_read_at timestamptz
);
-- Which physical column holds which field. A column is 'loading' until a complete full run has filled it. 'stale': a version shows it and
-- the ERP can't read it at the moment · 'vanished': the ERP no longer has it · 'returned': it can be read again, and the next full run
-- updates its values in place · 'replaced': the field has another type now.
create table if not exists record_columns (
  record_type text not null,
  column_name text not null,
  field text not null,
  part text not null constraint record_columns_parts_check check (part in ('value', 'label', 'ids', 'names', 'lines')),
  type text not null,
  state text not null check (state in ('loading', 'live', 'stale', 'returned', 'vanished', 'replaced')),
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
  -- What the ERP has in the scope columns, as exact text by column; a column is absent when its value can't be read. Null: none can.
  scope_values jsonb,
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
-- The values of all scope columns of a record before it was deleted, was withheld or changed in one of them: {"<column>": value}.
create table if not exists scope_changes (
  record_type text not null,
  generation bigint not null,
  id text not null,
  at timestamptz not null,
  before jsonb not null,
  primary key (record_type, generation, id)
);
-- Stored records that could not be updated and whose newest scope values differ from the stored ones or can't be read: no read under a row
-- scope returns them. A row stays until the record is read again, is deleted, or its rejection shows the stored values.
create table if not exists withheld_records (
  record_type text not null,
  id text not null,
  primary key (record_type, id)
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
  -- The stored records that still name it, as [{"recordType", "field", "count"}]; null when none does or the absence is confirmed.
  referenced_by jsonb,
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
-- Ids that the ERP listed while a complete read was proved, page by page; what it counted before the first page, null for pages that a count of their own confirmed.
create table if not exists listed_ids (
  run_id uuid not null,
  page integer not null,
  record_type text not null,
  counted bigint,
  ids text[] not null,
  is_last boolean not null,
  primary key (run_id, page)
);
-- Absent records that stay until their deletion is approved ('open'), because the configuration deletes nothing ('kept'), or because an
-- administrator rejected their deletion ('rejected', at most one per record type).
create table if not exists deletion_proposals (
  id uuid primary key,
  record_type text not null,
  ids text[] not null,
  evidence jsonb not null,
  status text not null default 'open' check (status in ('open', 'kept', 'superseded', 'approved', 'applied', 'rejected')),
  -- Rises with every change of ids.
  revision integer not null default 1,
  created_at timestamptz not null default now(),
  closed_at timestamptz
);
create unique index if not exists one_open_proposal on deletion_proposals (record_type) where status in ('open', 'kept');
create unique index if not exists one_rejected_proposal on deletion_proposals (record_type) where status = 'rejected';
-- What is known of the records that a proposal lists and that stay for now.
create table if not exists absent_records (
  record_type text not null,
  id text not null,
  -- The latest time at which the ERP is known to have had it, by the database's clock: the start of the last complete read or scan before
  -- it was found absent, or the last change that was read, whichever is later.
  last_seen_at timestamptz,
  referenced_by jsonb,
  primary key (record_type, id)
);
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
)`.split(/;\n(?=-- |create )/);
