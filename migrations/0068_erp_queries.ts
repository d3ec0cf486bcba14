// Record types that an organization defines by its own query in the ERP's query language.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table erp_queries (
  organization_id uuid not null references organizations on delete cascade,
  name text not null,
  label text not null,
  query text not null,
  key_column text not null,
  modified_column text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, name)
);
create unique index query_name_is_unique on erp_queries (organization_id, lower(name));
comment on table erp_queries is 'Record types that are defined by a query of the organization. What the ERP says about their columns is in erp_record_types.';
alter table erp_queries enable row level security;
alter table erp_queries force row level security;
create policy own_organization on erp_queries using (organization_id = (select current_organization()));
create policy owner_sees_all on erp_queries to portal_owner using (true);
grant select, insert, update, delete on erp_queries to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
