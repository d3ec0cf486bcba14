// The service's own state: rate-limit windows, stored responses of idempotent requests, measured sizes.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

create unlogged table rate_limits (
  key text primary key,
  hits integer not null,
  resets_at timestamptz not null
);

create table idempotency_keys (
  organization_id uuid not null references organizations on delete cascade,
  credential_id text not null,
  route_id text not null,
  key text not null,
  request_hash bytea not null,
  locked_until timestamptz,
  status integer,
  body jsonb,
  created_at timestamptz not null default now(),
  primary key (organization_id, credential_id, route_id, key)
);

create table warehouse_sizes (
  organization_id uuid primary key references organizations on delete cascade,
  bytes bigint not null,
  records bigint not null,
  measured_at timestamptz not null
);

do $$
declare t text;
begin
  foreach t in array array['idempotency_keys', 'warehouse_sizes'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;
grant select, insert, update, delete on rate_limits to portal_service;

create function schema_bytes(schema_name text) returns bigint language sql stable as $$
  select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = schema_name and c.relkind = 'r' $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
