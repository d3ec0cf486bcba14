// Row and field scopes of API keys, secrets of masked fields, tokens of keys, usage by subject, answers to readers of unmasked values, and
// the permission record:read.
// The function find_api_key refuses keys with the new scopes to processes of the previous version: these would read past the scopes.
import type { Knex } from 'knex';

/** Who could read records through views or conversations until now. */
const readers = "array['view:read', 'conversation:create']";

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table api_keys
  add column scope_rows jsonb,
  add column scope_fields jsonb,
  add column scope_unmasked boolean not null default false;
comment on column api_keys.scope_rows is 'By resource, the record type and the conditions that all hold: the type RowScopes of src/core/record-access.ts. Null: every record.';
comment on column api_keys.scope_fields is 'By resource, the names of the readable fields. Null: every field.';
comment on column api_keys.scope_unmasked is 'Whether masked fields are read as they are.';

create table mask_secrets (
  organization_id uuid primary key references organizations on delete cascade,
  secret text not null,
  created_at timestamptz not null default now()
);
comment on table mask_secrets is 'The secret from which the keys of masked fields (hash) are derived, encrypted; one per organization, made when its first such version is published.';

create table token_signing_keys (
  kid uuid primary key,
  organization_id uuid not null references organizations on delete cascade,
  public_key text not null,
  private_key text,
  created_at timestamptz not null default clock_timestamp(),
  replaced_at timestamptz,
  constraint current_key_can_sign check (private_key is not null or replaced_at is not null)
);
create unique index one_current_signing_key on token_signing_keys (organization_id) where replaced_at is null;
comment on table token_signing_keys is 'Keys that sign the tokens of API keys. private_key: encrypted. A replaced key verifies for one more hour.';

create table token_revocations (
  organization_id uuid not null references organizations on delete cascade,
  api_key_id uuid not null references api_keys on delete cascade,
  subject text not null,
  revoked_at timestamptz not null default clock_timestamp(),
  primary key (organization_id, api_key_id, subject)
);
comment on table token_revocations is 'Tokens of the key and subject that were issued at or before that time are refused.';

do $$
declare t text;
begin
  foreach t in array array['mask_secrets', 'token_signing_keys', 'token_revocations'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy own_organization on %I using (organization_id = (select current_organization()))', t);
    execute format('create policy owner_sees_all on %I to portal_owner using (true)', t);
    execute format('grant select, insert, update, delete on %I to portal_service', t);
  end loop;
end $$;

alter table api_key_usage add column subject text not null default '';
alter table api_key_usage drop constraint api_key_usage_pkey,
  add primary key (organization_id, api_key_id, day, version, resource, subject);
comment on column api_key_usage.subject is 'Of the token. Empty: the request was made with the key itself, or with a token without one. other: beyond the first 1,000 of the day.';

alter table conversation_messages add column unmasked boolean not null default false;
comment on column conversation_messages.unmasked is 'Whether the answer was given to a reader of unmasked values while a version masked fields: readers who see fields masked get it without its content.';

update roles set permissions = permissions || '{record:read}' where not built_in and permissions && ${readers};
update api_keys set ceiling = ceiling || '{record:read}' where ceiling && ${readers};
update api_keys set previous_ceiling = previous_ceiling || '{record:read}' where previous_ceiling && ${readers};

-- Both are defined again with the rest of db/functions; until then processes need them.
drop function find_api_key(bytea);
create function find_api_key(hash bytea) returns table (
  id uuid, organization_id uuid, organization_slug text, organization_name text, scope_versions text[], scope_resources text[],
  scope_permissions text[], expires_at timestamptz, revoked_at timestamptz, user_id uuid, user_email text, user_name text,
  role_id uuid, role_name text, role_built_in boolean, role_permissions text[], ceiling text[], seen_at timestamptz, use_noted boolean,
  reads jsonb, unmasked boolean)
language sql stable security definer set search_path = public, pg_temp as $$
  select k.id, o.id, o.slug, o.name, k.scope_versions,
         case when k.scope_rows is null and k.scope_fields is null then k.scope_resources else array[''] end, k.scope_permissions,
         least(k.expires_at, case when k.secret_hash = hash then k.secret_ends_at else k.previous_expires_at end),
         k.revoked_at, u.id, u.email, u.name, r.id, r.name, r.built_in, r.permissions,
         case when k.secret_hash = hash then k.ceiling else k.previous_ceiling end, clock_timestamp(),
         coalesce(k.last_used_at > clock_timestamp() - interval '1 minute', false),
         jsonb_build_object('versions', k.scope_versions, 'resources', k.scope_resources, 'rows', k.scope_rows, 'fields', k.scope_fields),
         k.scope_unmasked
  from api_keys k
  join organizations o on o.id = k.organization_id
  join users u on u.id = case when k.secret_hash = hash then k.created_by else coalesce(k.previous_created_by, k.created_by) end
  left join memberships m on m.organization_id = k.organization_id and m.user_id = u.id
  left join roles r on r.id = m.role_id
  where k.secret_hash = hash or k.previous_secret_hash = hash $$;
revoke all on function find_api_key from public;
grant execute on function find_api_key to portal_service;

create or replace function add_api_key_usage(counted jsonb) returns void language sql security definer set search_path = public, pg_temp as $$
  insert into api_key_usage as u (organization_id, api_key_id, day, version, resource, succeeded, not_modified, refused, failed)
  select k.organization_id, k.id, c.day, c.version, c.resource, c.succeeded, c.not_modified, c.refused, c.failed
  from jsonb_to_recordset(counted) as c(api_key_id uuid, day date, version text, resource text,
    succeeded bigint, not_modified bigint, refused bigint, failed bigint)
  join api_keys k on k.id = c.api_key_id
  order by 1, 2, 3, 4, 5
  on conflict (organization_id, api_key_id, day, version, resource, subject) do update set
    succeeded = u.succeeded + excluded.succeeded, not_modified = u.not_modified + excluded.not_modified,
    refused = u.refused + excluded.refused, failed = u.failed + excluded.failed $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
