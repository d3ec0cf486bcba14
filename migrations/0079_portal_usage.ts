// What visitors of a portal read, and how often they sign in.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table portal_usage (
  organization_id uuid not null references organizations on delete cascade,
  email text not null,
  day date not null,
  record_type text not null,
  succeeded bigint not null default 0,
  refused bigint not null default 0,
  failed bigint not null default 0,
  primary key (organization_id, email, day, record_type)
);
comment on table portal_usage is 'Requests of visitors, by day (UTC) and the record type that they read. record_type: empty for sign-ins. email: empty for a sign-in without success, since it is not known whose it was.';
create index on portal_usage (organization_id, day);
create index on portal_usage (day);
create index portal_sessions_by_use on portal_sessions (last_seen_at);
alter table portal_usage enable row level security;
alter table portal_usage force row level security;
create policy own_organization on portal_usage using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_usage to portal_owner using (true);
grant select, insert, update, delete on portal_usage to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
