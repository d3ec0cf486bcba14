// Organizations, users, roles, memberships and API keys. Every table that belongs to an organization forces row-level security;
// the setting `portal.organization_id` names the organization of the transaction.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create function current_organization() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('portal.organization_id', true), '')::uuid $$;

create table organizations (
  id uuid primary key,
  slug text not null constraint organization_slug_is_unique unique,
  name text not null,
  last_schema_version integer not null default 0,
  erp_account_id text,
  created_at timestamptz not null default now(),
  constraint organization_slug_is_legal check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$')
);

create table users (
  id uuid primary key,
  email text not null,
  name text not null,
  created_at timestamptz not null default now()
);
create unique index user_email_is_unique on users (lower(email));

create table user_identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users on delete cascade,
  linked_at timestamptz not null default now(),
  primary key (issuer, subject),
  constraint one_identity_per_issuer unique (user_id, issuer)
);

create table roles (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  name text not null,
  description text not null default '',
  permissions text[] not null default '{}',
  built_in boolean not null default false,
  created_at timestamptz not null default now(),
  constraint role_name_is_unique unique (organization_id, name)
);

create table memberships (
  organization_id uuid not null references organizations on delete cascade,
  user_id uuid not null references users on delete cascade,
  role_id uuid not null references roles,
  joined_at timestamptz not null default now(),
  last_active_at timestamptz,
  primary key (organization_id, user_id)
);
create index on memberships (user_id);

create table api_keys (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  name text not null,
  prefix text not null,
  secret_hash bytea not null constraint api_key_secret_is_unique unique,
  previous_secret_hash bytea constraint api_key_previous_secret_is_unique unique,
  previous_expires_at timestamptz,
  previous_created_by uuid references users,
  scope_versions text[] not null default '{}',
  scope_resources text[] not null default '{}',
  scope_permissions text[] not null default '{}',
  expires_at timestamptz,
  last_used_at timestamptz,
  created_by uuid not null references users,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index on api_keys (organization_id, created_at desc, id desc);

create table user_activity (
  organization_id uuid not null references organizations on delete cascade,
  user_id uuid not null references users on delete cascade,
  month date not null,
  primary key (organization_id, month, user_id)
);

create table audit_log (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  at timestamptz not null default clock_timestamp(),
  actor_id uuid,
  actor_email text,
  credential_kind text not null,
  credential_id text,
  action text not null,
  target_type text not null,
  target_id text,
  changes jsonb not null default '{}',
  ip text,
  request_id text
);
create index on audit_log (organization_id, at desc, id desc);

do $$
declare t text;
begin
  foreach t in array array['roles', 'memberships', 'api_keys', 'user_activity', 'audit_log'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
  end loop;
end $$;
alter table organizations enable row level security;
alter table organizations force row level security;
create policy own_organization on organizations using (id = (select current_organization()));
create policy owner_sees_all on organizations to portal_owner using (true);
alter table users enable row level security;
alter table users force row level security;
create policy fellow_members on users for select using (
  exists (select from memberships m where m.user_id = users.id)
  or exists (select from api_keys k where k.created_by = users.id));
create policy owner_sees_all on users to portal_owner using (true);
alter table user_identities enable row level security;
alter table user_identities force row level security;
create policy owner_sees_all on user_identities to portal_owner using (true);

grant select, insert, update, delete on organizations, roles, memberships, api_keys, user_activity to portal_service;
grant select on users to portal_service;
grant select, insert on audit_log to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
