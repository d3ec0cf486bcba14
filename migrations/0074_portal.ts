// The portal of an organization: whom and what it shows, as it was saved each time, and what the ERP doesn't know of its
// visitors. Settings compile to a row of api_schemas whose label begins with "p"; the versions of the public interface
// are those with "v".
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table api_schemas drop constraint api_schemas_version_check;
alter table api_schemas add constraint api_schemas_version_check check (version ~ '^[vp][1-9][0-9]{0,5}$');
alter table api_schemas drop constraint published_is_complete;
alter table api_schemas add constraint published_is_complete
  check (status = 'draft' or bindings is not null and published_at is not null and (openapi is not null or version like 'p%'));
create table portal_access (
  organization_id uuid not null references organizations on delete cascade,
  revision int not null,
  settings jsonb not null,
  document text,
  created_at timestamptz not null default now(),
  primary key (organization_id, revision)
);
comment on table portal_access is 'Whom and what the portal shows, as saved each time. document: the label in api_schemas of what it compiles to; null while the portal is off.';
alter table portal_access enable row level security;
alter table portal_access force row level security;
create policy own_organization on portal_access using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_access to portal_owner using (true);
grant select, insert, update, delete on portal_access to portal_service;
create table portal_visitors (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  email text not null,
  customers text[] not null default '{}',
  blocked boolean not null default false,
  last_sign_in_at timestamptz,
  created_at timestamptz not null default now(),
  constraint visitor_email_is_unique unique (organization_id, email)
);
comment on table portal_visitors is 'What the ERP does not know of visitors of the portal. customers: ids of customers by hand, besides those that the ERP names.';
alter table portal_visitors enable row level security;
alter table portal_visitors force row level security;
create policy own_organization on portal_visitors using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_visitors to portal_owner using (true);
grant select, insert, update, delete on portal_visitors to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
