// Addresses at which spreadsheets read a view as CSV.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table view_links (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  view_id uuid not null,
  name text not null,
  token_hash bytea not null constraint view_link_token_is_unique unique,
  rows jsonb not null,
  created_by uuid not null,
  api_key_id uuid references api_keys on delete cascade,
  secret_mark bytea,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  uses bigint not null default 0,
  constraint view_link_creator_is_a_member foreign key (organization_id, created_by) references memberships (organization_id, user_id) on delete cascade,
  foreign key (organization_id, view_id) references views (organization_id, id) on delete cascade
);
comment on table view_links is 'Addresses at which spreadsheets read a view as CSV, without any other credential. Such a read has what rights its creator has then: created_by, and the API key if one was used. rows: the conditions of a row scope, all of which must hold. token_hash: SHA-256 of the token in the address. secret_mark: SHA-256 of the stored hash of the secret of the key that made it.';
create index on view_links (organization_id, view_id, created_at, id);
create index on view_links (organization_id, created_by);
create index on view_links (api_key_id) where api_key_id is not null;
create index on view_links (expires_at);
alter table view_links enable row level security;
alter table view_links force row level security;
create policy own_organization on view_links using (organization_id = (select current_organization()));
create policy owner_sees_all on view_links to portal_owner using (true);
grant select, insert, update, delete on view_links to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
