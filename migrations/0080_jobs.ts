// One table of due background work for all kinds. Rows of older tables reach it by adopt_older_work(), which runs for as long as
// processes of the version before may live; the lease columns of those tables serve them alone.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table jobs (
  kind text not null,
  organization_id uuid not null references organizations on delete cascade,
  key text not null,
  due_at timestamptz not null default clock_timestamp(),
  requests integer not null default 1,
  attempts integer not null default 0,
  error text,
  lease_id uuid,
  worker text,
  payload jsonb,
  primary key (kind, organization_id, key)
);
comment on table jobs is 'Due background work: one row per kind, organization and key, deleted when it is done. due_at: when it can be claimed; while lease_id is set, when the lease ends. requests: how often it was requested while it was open.';
create index jobs_by_time on jobs (kind, due_at);
create index jobs_by_turn on jobs (kind, organization_id, due_at);
create index jobs_in_progress on jobs (kind, organization_id) where lease_id is not null;
alter table jobs enable row level security;
alter table jobs force row level security;
create policy own_organization on jobs using (organization_id = (select current_organization()));
create policy owner_sees_all on jobs to portal_owner using (true);
grant select, insert, update, delete on jobs to portal_service;
alter table outgoing_mails drop constraint mail_is_sent_under_a_lease;
alter table outgoing_mails add constraint mail_is_sent_under_a_lease check (status <> 'sending' or lease_id is not null);
alter table domains drop constraint pending_domain_is_checked_again;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
