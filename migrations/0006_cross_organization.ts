// The few queries across organizations, each a SECURITY DEFINER function that answers one question. A test compares the list of
// such functions with the database. Current definitions: db/functions.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create function find_api_key(hash bytea) returns table (
  id uuid, organization_id uuid, organization_slug text, organization_name text, scope_versions text[], scope_resources text[],
  scope_permissions text[], expires_at timestamptz, revoked_at timestamptz, user_id uuid, user_email text, user_name text,
  role_id uuid, role_name text, role_built_in boolean, role_permissions text[], seen_at timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select k.id, o.id, o.slug, o.name, k.scope_versions, k.scope_resources, k.scope_permissions,
         case when k.secret_hash = hash then k.expires_at else least(k.expires_at, k.previous_expires_at) end,
         k.revoked_at, u.id, u.email, u.name, r.id, r.name, r.built_in, r.permissions, clock_timestamp()
  from api_keys k
  join organizations o on o.id = k.organization_id
  join users u on u.id = case when k.secret_hash = hash then k.created_by else coalesce(k.previous_created_by, k.created_by) end
  left join memberships m on m.organization_id = k.organization_id and m.user_id = u.id
  left join roles r on r.id = m.role_id
  where k.secret_hash = hash or k.previous_secret_hash = hash $$;

create function memberships_of(wanted uuid) returns table (
  organization_id uuid, organization_slug text, organization_name text, role_id uuid, role_name text, role_built_in boolean, role_permissions text[])
language sql stable security definer set search_path = public, pg_temp as $$
  select o.id, o.slug, o.name, r.id, r.name, r.built_in, r.permissions
  from memberships m join organizations o on o.id = m.organization_id join roles r on r.id = m.role_id
  where m.user_id = wanted order by o.created_at, o.id $$;

create function find_identity(wanted_issuer text, wanted_subject text) returns table (id uuid, email text, name text)
language sql stable security definer set search_path = public, pg_temp as $$
  select u.id, u.email, u.name from user_identities i join users u on u.id = i.user_id
  where i.issuer = wanted_issuer and i.subject = wanted_subject $$;

create function link_identity(wanted_issuer text, wanted_subject text, verified_email text) returns table (id uuid, email text, name text)
language sql security definer set search_path = public, pg_temp as $$
  with person as (
    select u.id, u.email, u.name from users u where lower(u.email) = lower(verified_email)
    and not exists (select from user_identities i where i.user_id = u.id and i.issuer = wanted_issuer)
  ), linked as (
    insert into user_identities (issuer, subject, user_id) select wanted_issuer, wanted_subject, person.id from person
    on conflict do nothing returning user_id
  )
  select person.id, person.email, person.name from person join linked on linked.user_id = person.id $$;

create function ensure_user(new_id uuid, wanted_email text, wanted_name text) returns uuid
language plpgsql security definer set search_path = public, pg_temp as $$
declare found_id uuid;
begin
  insert into users (id, email, name) values (new_id, wanted_email, wanted_name) on conflict ((lower(email))) do nothing;
  select u.id into found_id from users u where lower(u.email) = lower(wanted_email);
  return found_id;
end $$;

create function scheduled_sync_configs() returns table (organization_id uuid, id uuid, schedule text, timezone text, last_slot timestamptz, since timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select c.organization_id, c.id, c.schedule, c.timezone,
         (select max(r.scheduled_for) from sync_runs r where r.sync_config_id = c.id and r.trigger = 'schedule'),
         c.scheduled_since
  from sync_configs c where c.enabled and c.schedule is not null and c.paused_reason is null $$;

create function claim_sync_run(worker text, lease interval) returns table (organization_id uuid, run_id uuid, lease_epoch integer, taken_over boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
declare chosen sync_runs%rowtype;
begin
  for try in 1..20 loop
    select * into chosen from sync_runs r
    where (r.status = 'queued' and not exists (
             select from sync_runs other where other.sync_config_id = r.sync_config_id and other.status in ('running', 'waiting', 'publishing')))
       or (r.status = 'waiting' and r.wake_at <= clock_timestamp())
       or (r.status in ('running', 'publishing') and r.lease_until < clock_timestamp())
    order by r.queued_at, r.id limit 1 for update skip locked;
    if not found then return; end if;
    begin
      update sync_runs r set
        status = case when r.status = 'publishing' then 'publishing' else 'running' end,
        lease_epoch = r.lease_epoch + 1, lease_until = clock_timestamp() + lease, lease_owner = worker, wake_at = null, staged = true,
        attempt = r.attempt + 1, started_at = coalesce(r.started_at, clock_timestamp()),
        attempts_without_progress = r.attempts_without_progress
          + case when r.status in ('running', 'publishing') and r.lease_owner is not null then 1 else 0 end
      where r.id = chosen.id;
      return query select chosen.organization_id, chosen.id, chosen.lease_epoch + 1, chosen.status in ('running', 'publishing');
      return;
    exception when unique_violation then null; -- another run of this configuration became active meanwhile: try again
    end;
  end loop;
end $$;

create function ended_staged_runs() returns table (organization_id uuid, run_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select r.organization_id, r.id from sync_runs r
  where r.staged and r.status in ('succeeded', 'partial', 'failed', 'cancelled') order by r.queued_at limit 100 $$;

create function unfinished_publications() returns table (organization_id uuid, id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select s.organization_id, s.id from api_schemas s where s.status = 'draft' and s.publication ->> 'status' = 'running' $$;

create function prune_expired() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from rate_limits where resets_at < clock_timestamp() - interval '1 minute';
  delete from idempotency_keys where created_at < now() - interval '24 hours';
  delete from sync_run_events where at < now() - interval '30 days';
  delete from sync_runs r where r.finished_at < now() - interval '1 year'
    and exists (select from sync_runs newer where newer.sync_config_id = r.sync_config_id and newer.queued_at > r.queued_at);
$$;

create function all_organizations() returns table (id uuid)
language sql stable security definer set search_path = public, pg_temp as $$ select o.id from organizations o $$;

do $$
declare f regprocedure;
begin
  for f in select p.oid from pg_proc p join pg_namespace n on n.oid = p.pronamespace
           where n.nspname = 'public' and p.prosecdef loop
    execute format('revoke all on function %s from public', f);
    execute format('grant execute on function %s to portal_service', f);
  end loop;
end $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
