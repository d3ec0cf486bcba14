// Browser sessions. A session belongs to a user, who may belong to several organizations or none: the setting `portal.user_id`
// names the user of a transaction, and row-level security restricts it to that user's sessions.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create function current_person() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('portal.user_id', true), '')::uuid $$;

create table sessions (
  id uuid primary key,
  token_hash bytea not null constraint session_token_is_unique unique,
  user_id uuid not null references users on delete cascade,
  -- No foreign key: a session whose organization was deleted differs from one that has not chosen an organization.
  active_organization_id uuid,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  ip text,
  user_agent text
);
create index on sessions (user_id, created_at desc, id desc);
alter table sessions enable row level security;
alter table sessions force row level security;
create policy own_sessions on sessions using (user_id = (select current_person()));
create policy owner_sees_all on sessions to portal_owner using (true);
grant select, insert, update, delete on sessions to portal_service;

create function find_session(hash bytea) returns table (
  id uuid, user_id uuid, user_email text, user_name text, active_organization_id uuid,
  created_at timestamptz, last_seen_at timestamptz, seen_at timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select s.id, u.id, u.email, u.name, s.active_organization_id, s.created_at, s.last_seen_at, clock_timestamp()
  from sessions s join users u on u.id = s.user_id where s.token_hash = hash $$;
revoke all on function find_session from public;
grant execute on function find_session to portal_service;

-- Stored responses of users without an organization are kept under the user's id.
alter table idempotency_keys drop constraint idempotency_keys_organization_id_fkey;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
