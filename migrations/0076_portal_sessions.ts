// Visitors of a portal sign in: their sessions, what is counted of them, and how the portal looks.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table portal_sessions (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  token_hash bytea not null,
  host text not null,
  email text not null,
  customer text,
  viewer_id uuid references users on delete cascade,
  ip text not null,
  user_agent text,
  previous_visit_at timestamptz,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  ends_at timestamptz not null,
  constraint portal_session_token_is_unique unique (token_hash)
);
comment on table portal_sessions is 'Sessions of visitors. host: where it is valid. customer: the one whose records are shown. viewer_id: the member who sees the portal as this visitor would.';
create index portal_sessions_by_email on portal_sessions (organization_id, email);
alter table portal_sessions enable row level security;
alter table portal_sessions force row level security;
create policy own_organization on portal_sessions using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_sessions to portal_owner using (true);
grant select, insert, update, delete on portal_sessions to portal_service;
create table portal_activity (
  organization_id uuid not null references organizations on delete cascade,
  email text not null,
  month date not null,
  primary key (organization_id, month, email)
);
comment on table portal_activity is 'Visitors who opened the portal in a month, by UTC.';
alter table portal_activity enable row level security;
alter table portal_activity force row level security;
create policy own_organization on portal_activity using (organization_id = (select current_organization()));
create policy owner_sees_all on portal_activity to portal_owner using (true);
grant select, insert, update, delete on portal_activity to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
