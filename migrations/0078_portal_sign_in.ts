// The identity provider of an organization's own, at which visitors of its portal may sign in.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table portal_sign_in (
  organization_id uuid primary key references organizations on delete cascade,
  issuer text not null,
  client_id text not null,
  client_secret text,
  label text,
  updated_at timestamptz not null default now()
);
comment on table portal_sign_in is 'The OpenID Connect provider of the portal. client_secret: encrypted; null for a client without one.';
alter table portal_sign_in enable row level security;
alter table portal_sign_in force row level security;
create policy own_organization on portal_sign_in using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_sign_in to portal_owner using (true);
grant select, insert, update, delete on portal_sign_in to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
