// Records that a caller asks to be read again, before the next run reads them, and runs that read only these.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table sync_rereads (
  organization_id uuid not null references organizations on delete cascade,
  sync_config_id uuid not null,
  record_id text not null,
  run_id uuid,
  primary key (sync_config_id, record_id),
  constraint reread_of_config foreign key (organization_id, sync_config_id) references sync_configs (organization_id, id) on delete cascade
);
comment on table sync_rereads is 'Records that the next run of a sync is to read again. run_id: the run that took the record over at its start; the transaction that stores its outcome deletes the row, unless the record was requested again meanwhile. The next run takes over what a failed one leaves.';
create index on sync_rereads (organization_id, sync_config_id);
create index on sync_rereads (run_id, record_id) where run_id is not null;
alter table sync_rereads enable row level security;
alter table sync_rereads force row level security;
create policy own_organization on sync_rereads using (organization_id = (select current_organization()));
create policy owner_sees_all on sync_rereads to portal_owner using (true);
grant select, insert, update, delete on sync_rereads to portal_service;
alter table sync_runs drop constraint sync_runs_mode_check,
  add constraint sync_runs_mode_check check (mode in ('incremental', 'full', 'reread')) not valid;
alter table sync_runs validate constraint sync_runs_mode_check;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
