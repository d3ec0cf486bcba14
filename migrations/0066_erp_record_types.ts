// Record types in rows of their own: an account may have hundreds, and a run needs one. erp_metadata says when their list was read.
// Processes of the previous version still read and write erp_metadata.record_types during a rolling deployment, so the column stays.
import type { Knex } from 'knex';

/** What the previous version described are customers, contacts, vendors and employees, items and transactions. */
const familySql = `case t.type ->> 'table' when 'transaction' then 'transaction' when 'item' then 'item' else 'entity' end`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table erp_record_types (
  organization_id uuid not null references organizations on delete cascade,
  name text not null,
  position integer not null,
  head jsonb not null,
  description jsonb,
  described_at timestamptz,
  primary key (organization_id, name),
  constraint described_at_a_time check ((description is null) = (described_at is null))
);
comment on table erp_record_types is 'The record types that the ERP lists. head: what a list of them shows. description: with all fields; null until it is needed for the first time.';
alter table erp_record_types enable row level security;
alter table erp_record_types force row level security;
create policy own_organization on erp_record_types using (organization_id = (select current_organization()));
create policy owner_sees_all on erp_record_types to portal_owner using (true);
grant select, insert, update, delete on erp_record_types to portal_service;

insert into erp_record_types (organization_id, name, position, head, description, described_at)
select m.organization_id, t.type ->> 'name', t.position, jsonb_build_object(
    'name', t.type -> 'name', 'label', t.type -> 'label', 'family', ${familySql}, 'custom', false,
    'table', t.type -> 'table', 'source', t.type -> 'source', 'syncable', f.syncable > 0,
    'reason', case when f.syncable = 0 then f.reason end, 'fieldCount', f.fields, 'syncableFieldCount', f.syncable
  ), t.type, m.refreshed_at
from erp_metadata m
cross join lateral jsonb_array_elements(m.record_types) with ordinality as t(type, position)
cross join lateral (
  select count(*) as fields, count(*) filter (where (e -> 'syncable')::boolean) as syncable, min(e ->> 'reason') as reason
  from jsonb_array_elements(t.type -> 'fields') as e
) f
on conflict do nothing;

alter table erp_metadata alter column record_types set default '[]', add column account jsonb;
comment on column erp_metadata.record_types is 'Read and written by the version before erp_record_types only.';
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
