// Sign-in: each attempt can be finished once, users' names may be updated, and each organization's agent credits.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- Finished sign-in attempts. Inserting the row finishes the attempt, so it succeeds once.
create unlogged table used_sign_ins (
  state_hash bytea primary key,
  used_at timestamptz not null default now()
);
grant select, insert on used_sign_ins to portal_service;

-- A transaction bound to a user may read that user's row and update its name, nothing else.
create policy own_person on users for select using (id = (select current_person()));
create policy own_name on users for update using (id = (select current_person()));
grant update (name) on users to portal_service;

-- Credits spent by an organization's agents, by month (UTC). Append-only.
create table agent_credit_entries (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  month date not null default date_trunc('month', now() at time zone 'UTC')::date
    constraint credit_month_is_a_first_day check (extract(day from month) = 1),
  credits integer not null,
  kind text not null,
  message_id uuid,
  at timestamptz not null default clock_timestamp()
);
create index on agent_credit_entries (organization_id, month);
alter table agent_credit_entries enable row level security;
alter table agent_credit_entries force row level security;
create policy own_organization on agent_credit_entries using (organization_id = (select current_organization()));
create policy owner_sees_all on agent_credit_entries to portal_owner using (true);
grant select, insert on agent_credit_entries to portal_service;

create or replace function prune_expired() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from rate_limits where resets_at < clock_timestamp() - interval '1 minute';
  delete from idempotency_keys where created_at < now() - interval '24 hours';
  delete from used_sign_ins where used_at < now() - interval '1 hour';
  delete from sessions where last_seen_at < now() - interval '12 hours' or created_at < now() - interval '7 days';
  delete from sync_run_events where at < now() - interval '30 days';
  delete from sync_runs r where r.finished_at < now() - interval '1 year'
    and exists (select from sync_runs newer where newer.sync_config_id = r.sync_config_id and newer.queued_at > r.queued_at);
$$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
