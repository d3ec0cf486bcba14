-- Finds the API key behind a token, as find_api_key does by its secret, and when tokens of this subject and of any were last revoked. mark: SHA-256
-- of the stored hash of the secret that minted the token, which must be the current or the previous one. No row when minted_by, a person,
-- is no longer a member. The caller decides about revoked and expired keys.
create or replace function find_token_key(wanted uuid, mark bytea, minted_by uuid, wanted_subject text) returns table (
  id uuid, organization_id uuid, organization_slug text, organization_name text, scope_versions text[], scope_resources text[],
  scope_permissions text[], expires_at timestamptz, revoked_at timestamptz, user_id uuid, user_email text, user_name text,
  role_id uuid, role_name text, role_built_in boolean, role_permissions text[], ceiling text[], seen_at timestamptz, use_noted boolean,
  reads jsonb, unmasked boolean, subject_revoked_at timestamptz,
  any_revoked_at timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select f.*, v.revoked_at, (select max(r.revoked_at) from token_revocations r where r.organization_id = k.organization_id and r.api_key_id = k.id)
  from api_keys k
  cross join lateral find_api_key(case when mark = sha256(k.secret_hash) then k.secret_hash else k.previous_secret_hash end) f
  left join token_revocations v on v.organization_id = k.organization_id and v.organization_id = k.organization_id and v.api_key_id = k.id and v.subject = wanted_subject
  where k.id = wanted and mark in (sha256(k.secret_hash), sha256(k.previous_secret_hash))
    and (minted_by is null
      or exists (select from memberships m where m.organization_id = k.organization_id and m.user_id = minted_by)) $$;
