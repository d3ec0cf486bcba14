// Saved views: which records to show, how, and to whom.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- When the owner leaves, the view remains without an owner; when its team is deleted, it belongs to its owner alone.
create table views (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  owner_id uuid,
  name text not null,
  record_type text not null,
  columns text[] not null,
  filters jsonb not null default '[]',
  sort jsonb not null default '[]',
  visibility text not null constraint view_visibility_is_known check (visibility in ('private', 'team', 'organization')),
  team_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint view_of_organization unique (organization_id, id),
  constraint view_has_columns check (cardinality(columns) between 1 and 100),
  constraint only_team_views_name_a_team check (team_id is null or visibility = 'team'),
  constraint view_owner_is_a_member foreign key (organization_id, owner_id) references memberships (organization_id, user_id)
    on delete set null (owner_id),
  constraint view_of_team foreign key (organization_id, team_id) references teams (organization_id, id) on delete set null (team_id)
);
create index on views (organization_id, created_at desc, id desc);
create index on views (organization_id, record_type);
create index on views (organization_id, owner_id);
create index on views (organization_id, team_id);

alter table views enable row level security;
alter table views force row level security;
create policy own_organization on views using (organization_id = (select current_organization()));
create policy owner_sees_all on views to portal_owner using (true);
grant select, insert, update, delete on views to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
