// How the portal of an organization looks, the figures of its access, and when a visitor was invited.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table portal_branding (
  organization_id uuid primary key references organizations on delete cascade,
  settings jsonb not null,
  logo bytea,
  logo_type text,
  logo_width int,
  logo_height int,
  revision int not null default 1,
  updated_at timestamptz not null default now(),
  constraint logo_has_a_type check ((logo is null) = (logo_type is null))
);
comment on table portal_branding is 'How the portal looks. logo: as it is served, written by this service from what was uploaded.';
alter table portal_branding enable row level security;
alter table portal_branding force row level security;
create policy own_organization on portal_branding using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_branding to portal_owner using (true);
grant select, insert, update, delete on portal_branding to portal_service;
alter table portal_access add column figures jsonb, add column figures_due_at timestamptz;
comment on column portal_access.figures is 'How many customers have an address, and which addresses several share, when it was last counted.';
comment on column portal_access.figures_due_at is 'When they may be counted again; null: at once.';
alter table portal_visitors add column invited_at timestamptz;
create index portal_visitors_by_customer on portal_visitors using gin (customers);
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
