// The ERP connection, its metadata, and the queue of sync runs. What must change together with the synced records is in the
// organization's own schema instead (src/warehouse/tenant-schema.ts).
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create table erp_connections (
  organization_id uuid primary key references organizations on delete cascade,
  kind text not null,
  account_id text not null,
  settings jsonb not null,
  secrets text,
  secret_hint text,
  status text not null default 'untested' check (status in ('untested', 'connected', 'failed')),
  last_tested_at timestamptz,
  last_error text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table erp_certificates (
  organization_id uuid not null references organizations on delete cascade,
  slot smallint not null check (slot in (1, 2)),
  certificate_id text,
  certificate_pem text not null,
  private_key text not null,
  not_after timestamptz not null,
  active boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (organization_id, slot)
);
create unique index one_active_certificate on erp_certificates (organization_id) where active;

create table erp_metadata (
  organization_id uuid primary key references organizations on delete cascade,
  record_types jsonb not null,
  refreshed_at timestamptz not null,
  last_error text
);

create table sync_configs (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  name text not null,
  record_type text not null,
  mode text not null check (mode in ('incremental', 'full')),
  schedule text,
  timezone text not null default 'UTC',
  enabled boolean not null default true,
  fields text[],
  deletions text not null check (deletions in ('feed', 'reconcile', 'none')),
  max_delete_share numeric not null default 0.02 check (max_delete_share between 0 and 1),
  alert_recipients text[] not null default '{}',
  paused_reason jsonb,
  scheduled_since timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint one_config_per_record_type unique (organization_id, record_type),
  constraint sync_config_of_organization unique (organization_id, id)
);

create function note_schedule_change() returns trigger language plpgsql as $$
begin
  if (new.schedule, new.timezone, new.enabled) is distinct from (old.schedule, old.timezone, old.enabled) then
    new.scheduled_since := clock_timestamp();
  end if;
  return new;
end $$;
create trigger schedule_changes before update on sync_configs for each row execute function note_schedule_change();

create table sync_runs (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  sync_config_id uuid not null,
  record_type text not null,
  mode text not null check (mode in ('incremental', 'full')),
  trigger text not null check (trigger in ('schedule', 'manual', 'retry')),
  status text not null default 'queued'
    check (status in ('queued', 'running', 'waiting', 'publishing', 'succeeded', 'partial', 'failed', 'cancelled')),
  attempt integer not null default 0,
  attempts_without_progress integer not null default 0,
  scheduled_for timestamptz,
  queued_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  lease_epoch integer not null default 0,
  lease_until timestamptz,
  lease_owner text,
  wake_at timestamptz,
  cancel_requested boolean not null default false,
  -- Whether the organization's schema may hold rows that this run staged.
  staged boolean not null default false,
  progress jsonb,
  counts jsonb,
  proof jsonb not null default '[]',
  generation bigint,
  error jsonb,
  retry_of uuid,
  constraint run_of_config foreign key (organization_id, sync_config_id) references sync_configs (organization_id, id) on delete cascade
);
create unique index one_active_run_per_config on sync_runs (sync_config_id) where status in ('running', 'waiting', 'publishing');
create unique index one_queued_run_per_config on sync_runs (sync_config_id) where status = 'queued';
create unique index one_run_per_slot on sync_runs (sync_config_id, scheduled_for) where trigger = 'schedule';
create index on sync_runs (organization_id, queued_at desc, id desc);
create index on sync_runs (sync_config_id, queued_at desc, id desc);
create index staged_runs on sync_runs (queued_at) where staged;
create index open_runs on sync_runs (queued_at) where status in ('queued', 'running', 'waiting', 'publishing');

create table sync_run_events (
  id bigint generated always as identity primary key,
  organization_id uuid not null references organizations on delete cascade,
  run_id uuid not null references sync_runs on delete cascade,
  at timestamptz not null default clock_timestamp(),
  level text not null check (level in ('info', 'warning', 'error')),
  message text not null,
  data jsonb not null default '{}'
);
create index on sync_run_events (run_id, id);

do $$
declare t text;
begin
  foreach t in array array['erp_connections', 'erp_certificates', 'erp_metadata', 'sync_configs', 'sync_runs', 'sync_run_events'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
