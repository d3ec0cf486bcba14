// What administrators see of syncs: live progress of runs, changes of the ERP's fields, and which alerts were sent.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create function tell_followers() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'sync_run_events' then
    perform pg_notify('streams', 'sync-run:' || new.run_id);
  elsif (new.status, new.mode, new.attempt, new.progress, new.counts, new.error)
      is distinct from (old.status, old.mode, old.attempt, old.progress, old.counts, old.error) then
    perform pg_notify('streams', 'sync-run:' || new.id);
  end if;
  return null;
end $$;
create trigger tell_followers after update on sync_runs for each row execute function tell_followers();
create trigger tell_followers after insert on sync_run_events for each row execute function tell_followers();

-- Fields that were added, removed or changed type in the ERP. The id is chosen where the change is detected, so that a repeated
-- insert has no effect.
create table drift_events (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  record_type text not null,
  kind text not null constraint drift_kind_is_known check (kind in ('added', 'vanished', 'retyped')),
  field text not null,
  from_type text,
  to_type text,
  run_id uuid not null,
  at timestamptz not null,
  constraint drift_types_fit_kind check ((from_type is null) = (kind = 'added') and (to_type is null) = (kind = 'vanished'))
);
create index on drift_events (organization_id, record_type, at desc, id desc);
create index on drift_events (at);

-- The state of each sync that its recipients were last notified of. The change and the mail are one transaction.
create table sync_alerts (
  sync_config_id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  state text not null default 'green' constraint alert_state_is_known check (state in ('green', 'unwell', 'held', 'paused')),
  since timestamptz not null default clock_timestamp(),
  unwell_since timestamptz,
  run_id uuid,
  constraint alert_of_config foreign key (organization_id, sync_config_id) references sync_configs (organization_id, id) on delete cascade,
  constraint only_green_is_well check ((state = 'green') = (unwell_since is null))
);
create index on sync_alerts (organization_id, sync_config_id);

-- Each expiry threshold is reported once per certificate; a renewed certificate has another fingerprint.
create table certificate_alerts (
  organization_id uuid not null references organizations on delete cascade,
  fingerprint text not null,
  days smallint not null,
  at timestamptz not null default clock_timestamp(),
  primary key (organization_id, fingerprint, days)
);

do $$
declare t text;
begin
  foreach t in array array['drift_events', 'sync_alerts', 'certificate_alerts'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;

create function organizations_with_expiring_certificate(within interval) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select c.organization_id from erp_certificates c where c.active and c.not_after <= clock_timestamp() + within
  order by c.organization_id $$;
revoke all on function organizations_with_expiring_certificate from public;
grant execute on function organizations_with_expiring_certificate to portal_service;

create function prune_drift_events() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from drift_events where at < now() - interval '1 year' $$;
revoke all on function prune_drift_events from public;
grant execute on function prune_drift_events to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
