// Teams, API keys that outlive their creator's membership, case-insensitive unique names, and deletion of organizations with
// a lasting audit log.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- Set when the deletion of an organization starts: from then on its warehouse schema can't be created again.
alter table organizations add column deleting_since timestamptz;

alter table roles drop constraint role_name_is_unique;
create unique index role_name_is_unique on roles (organization_id, lower(name));
alter table roles add constraint role_of_organization unique (organization_id, id);
alter table memberships add constraint membership_role_of_organization foreign key (organization_id, role_id) references roles (organization_id, id);
create index on memberships (organization_id, role_id);
create index on memberships (organization_id, joined_at desc, user_id desc);

create table teams (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  name text not null,
  description text not null default '',
  created_at timestamptz not null default now(),
  constraint team_of_organization unique (organization_id, id)
);
create unique index team_name_is_unique on teams (organization_id, lower(name));
create index on teams (organization_id, created_at desc, id desc);

create table team_members (
  organization_id uuid not null,
  team_id uuid not null,
  user_id uuid not null,
  added_at timestamptz not null default now(),
  constraint team_member_is_unique primary key (team_id, user_id),
  constraint team_member_of_team foreign key (organization_id, team_id) references teams (organization_id, id) on delete cascade,
  constraint team_member_is_a_member foreign key (organization_id, user_id) references memberships (organization_id, user_id) on delete cascade
);
create index on team_members (organization_id, user_id);

do $$
declare t text;
begin
  foreach t in array array['teams', 'team_members'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;

-- The audit log outlives the organization.
alter table audit_log drop constraint audit_log_organization_id_fkey;
create index on audit_log (organization_id, action, at desc, id desc);
create index on audit_log (organization_id, actor_id, at desc, id desc);
create index on audit_log (organization_id, target_id, at desc, id desc);

-- The permissions that a key had when it was transferred: its former holder still knows the secret, so the key never gets more.
-- Null: the key was never transferred.
alter table api_keys add column ceiling text[], add column previous_ceiling text[];
create index on api_keys (organization_id, created_by);

drop function find_api_key(bytea);
create function find_api_key(hash bytea) returns table (
  id uuid, organization_id uuid, organization_slug text, organization_name text, scope_versions text[], scope_resources text[],
  scope_permissions text[], expires_at timestamptz, revoked_at timestamptz, user_id uuid, user_email text, user_name text,
  role_id uuid, role_name text, role_built_in boolean, role_permissions text[], ceiling text[], seen_at timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select k.id, o.id, o.slug, o.name, k.scope_versions, k.scope_resources, k.scope_permissions,
         case when k.secret_hash = hash then k.expires_at else least(k.expires_at, k.previous_expires_at) end,
         k.revoked_at, u.id, u.email, u.name, r.id, r.name, r.built_in, r.permissions,
         case when k.secret_hash = hash then k.ceiling else k.previous_ceiling end, clock_timestamp()
  from api_keys k
  join organizations o on o.id = k.organization_id
  join users u on u.id = case when k.secret_hash = hash then k.created_by else coalesce(k.previous_created_by, k.created_by) end
  left join memberships m on m.organization_id = k.organization_id and m.user_id = u.id
  left join roles r on r.id = m.role_id
  where k.secret_hash = hash or k.previous_secret_hash = hash $$;
revoke all on function find_api_key from public;
grant execute on function find_api_key to portal_service;

create function organizations_of(wanted uuid) returns table (id uuid, slug text, name text, created_at timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select o.id, o.slug, o.name, o.created_at from memberships m join organizations o on o.id = m.organization_id where m.user_id = wanted $$;
revoke all on function organizations_of from public;
grant execute on function organizations_of to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
