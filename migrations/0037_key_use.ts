// Looking up a key also returns whether its use was recorded in the last minute: most requests then have nothing to write.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
drop function find_api_key(bytea);
create function find_api_key(hash bytea) returns table (
  id uuid, organization_id uuid, organization_slug text, organization_name text, scope_versions text[], scope_resources text[],
  scope_permissions text[], expires_at timestamptz, revoked_at timestamptz, user_id uuid, user_email text, user_name text,
  role_id uuid, role_name text, role_built_in boolean, role_permissions text[], ceiling text[], seen_at timestamptz, use_noted boolean)
language sql stable security definer set search_path = public, pg_temp as $$
  select k.id, o.id, o.slug, o.name, k.scope_versions, k.scope_resources, k.scope_permissions,
         case when k.secret_hash = hash then k.expires_at else least(k.expires_at, k.previous_expires_at) end,
         k.revoked_at, u.id, u.email, u.name, r.id, r.name, r.built_in, r.permissions,
         case when k.secret_hash = hash then k.ceiling else k.previous_ceiling end, clock_timestamp(),
         coalesce(k.last_used_at > clock_timestamp() - interval '1 minute', false)
  from api_keys k
  join organizations o on o.id = k.organization_id
  join users u on u.id = case when k.secret_hash = hash then k.created_by else coalesce(k.previous_created_by, k.created_by) end
  left join memberships m on m.organization_id = k.organization_id and m.user_id = u.id
  left join roles r on r.id = m.role_id
  where k.secret_hash = hash or k.previous_secret_hash = hash $$;
revoke all on function find_api_key from public;
grant execute on function find_api_key to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
