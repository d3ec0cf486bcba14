// The customer's portal: labels and formats of fields, the sidebar, pages, and templates of mails and documents.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create table portal_field_mappings (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  record_type text not null,
  fields jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint mapping_record_type_is_unique unique (organization_id, record_type)
);
create index on portal_field_mappings (organization_id, created_at desc, id desc);

create table portal_sidebars (
  organization_id uuid primary key references organizations on delete cascade,
  items jsonb not null,
  revision integer not null default 1,
  updated_at timestamptz not null default clock_timestamp()
);

-- Visitors see a separate published copy while the draft is edited. Slugs are unique among published copies, and among
-- drafts.
create table portal_pages (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  slug text not null,
  title text not null,
  blocks jsonb not null,
  revision integer not null default 1,
  published_slug text,
  published_title text,
  published_blocks jsonb,
  published_revision integer,
  published_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint page_slug_is_unique unique (organization_id, slug),
  constraint published_page_slug_is_unique unique (organization_id, published_slug),
  constraint published_page_is_whole check (num_nulls(published_slug, published_title, published_blocks, published_revision, published_at) in (0, 5))
);
create index on portal_pages (organization_id, created_at desc, id desc);

create table portal_templates (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  key text not null,
  kind text not null constraint template_kind_is_known check (kind in ('email', 'document')),
  subject text,
  body text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint template_of_organization unique (organization_id, id),
  constraint template_key_is_unique unique (organization_id, kind, key),
  constraint mails_have_a_subject check ((kind = 'email') = (subject is not null))
);
create index on portal_templates (organization_id, created_at desc, id desc);

do $$
declare t text;
begin
  foreach t in array array['portal_field_mappings', 'portal_sidebars', 'portal_pages', 'portal_templates'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
