// Versions of the public interface. A trigger makes published versions immutable.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create table api_schemas (
  id uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  version text not null check (version ~ '^v[1-9][0-9]{0,5}$'),
  status text not null default 'draft' check (status in ('draft', 'published', 'deprecated', 'retired')),
  name text not null default '',
  notes text not null default '',
  endpoints jsonb not null default '[]',
  revision integer not null default 1,
  publication jsonb,
  bindings jsonb,
  openapi text,
  published_at timestamptz,
  published_by uuid,
  sunset_at timestamptz,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint version_is_unique unique (organization_id, version),
  constraint published_is_complete check (status = 'draft' or (bindings is not null and openapi is not null and published_at is not null))
);

create function hold_published_schema() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.status <> 'draft' and exists (select from organizations o where o.id = old.organization_id) then
      raise exception 'Published schemas are immutable' using errcode = 'check_violation', constraint = 'published_is_immutable';
    end if;
    return old;
  end if;
  if old.status = 'draft' then return new; end if;
  if new.status = 'draft'
     or (to_jsonb(new) - '{status,sunset_at,updated_at}'::text[]) is distinct from (to_jsonb(old) - '{status,sunset_at,updated_at}'::text[]) then
    raise exception 'Published schemas are immutable' using errcode = 'check_violation', constraint = 'published_is_immutable';
  end if;
  return new;
end $$;
create trigger published_is_immutable before update or delete on api_schemas for each row execute function hold_published_schema();

alter table api_schemas enable row level security;
alter table api_schemas force row level security;
create policy own_organization on api_schemas using (organization_id = (select current_organization()));
create policy owner_sees_all on api_schemas to portal_owner using (true);
grant select, insert, update, delete on api_schemas to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
