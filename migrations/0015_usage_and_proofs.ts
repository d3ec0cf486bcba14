// Usage of the public interface by key, day, version and resource, and the report of each publication.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- Empty version: the request named none that exists. Empty resource: the description, or an unknown resource.
create table api_key_usage (
  organization_id uuid not null references organizations on delete cascade,
  api_key_id uuid not null references api_keys on delete cascade,
  day date not null,
  version text not null,
  resource text not null,
  succeeded bigint not null default 0,
  not_modified bigint not null default 0,
  refused bigint not null default 0,
  failed bigint not null default 0,
  primary key (organization_id, api_key_id, day, version, resource)
);
create index on api_key_usage (organization_id, version, day);
create index on api_key_usage (day);

-- The last attempt to publish each version: every read that was tried, and the differences from the previous version.
create table publication_reports (
  api_schema_id uuid primary key references api_schemas on delete cascade,
  organization_id uuid not null references organizations on delete cascade,
  revision integer not null,
  made_at timestamptz not null default clock_timestamp(),
  against text,
  changes jsonb not null default '[]',
  pairs jsonb not null default '[]'
);

-- When the version was deprecated. Changing the sunset date does not change it.
alter table api_schemas add column deprecated_at timestamptz;
create or replace function hold_published_schema() returns trigger language plpgsql as $$
declare free constant text[] := '{status,sunset_at,deprecated_at,updated_at}';
begin
  if tg_op = 'DELETE' then
    if old.status <> 'draft' and exists (select from organizations o where o.id = old.organization_id) then
      raise exception 'Published schemas are immutable' using errcode = 'check_violation', constraint = 'published_is_immutable';
    end if;
    return old;
  end if;
  if old.status = 'draft' then return new; end if;
  if new.status = 'draft' or (to_jsonb(new) - free) is distinct from (to_jsonb(old) - free) then
    raise exception 'Published schemas are immutable' using errcode = 'check_violation', constraint = 'published_is_immutable';
  end if;
  return new;
end $$;
update api_schemas set deprecated_at = updated_at where status = 'deprecated';

do $$
declare t text;
begin
  foreach t in array array['api_key_usage', 'publication_reports'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;

create function add_api_key_usage(counted jsonb) returns void language sql security definer set search_path = public, pg_temp as $$
  insert into api_key_usage as u (organization_id, api_key_id, day, version, resource, succeeded, not_modified, refused, failed)
  select k.organization_id, k.id, c.day, c.version, c.resource, c.succeeded, c.not_modified, c.refused, c.failed
  from jsonb_to_recordset(counted) as c(api_key_id uuid, day date, version text, resource text,
    succeeded bigint, not_modified bigint, refused bigint, failed bigint)
  join api_keys k on k.id = c.api_key_id
  order by 1, 2, 3, 4, 5
  on conflict (organization_id, api_key_id, day, version, resource) do update set
    succeeded = u.succeeded + excluded.succeeded, not_modified = u.not_modified + excluded.not_modified,
    refused = u.refused + excluded.refused, failed = u.failed + excluded.failed $$;
revoke all on function add_api_key_usage from public;
grant execute on function add_api_key_usage to portal_service;

create function prune_api_key_usage() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from api_key_usage where day < (now() at time zone 'UTC')::date - interval '13 months' $$;
revoke all on function prune_api_key_usage from public;
grant execute on function prune_api_key_usage to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
