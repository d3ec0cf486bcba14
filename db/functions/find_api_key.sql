-- Finds the API key whose current or previous secret has this hash, with its organization, user and role. The caller decides about
-- revoked and expired keys. During the grace period of a rotation the old secret keeps acting for the user it acted for before,
-- with no more power than before. expires_at is the end of this secret: of the key, of its grace period, or after a transfer.
-- reads: what it reads, an AccessLayer of src/core/record-access.ts. scope_versions and scope_resources are for processes of the version
-- before row and field scopes: a key with these reads no resource there.
create or replace function find_api_key(hash bytea) returns table (
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
