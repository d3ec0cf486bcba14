-- Finds the key that verifies a token, by the key id in its header. The caller decides how long a replaced one verifies.
create or replace function find_token_signing_key(wanted uuid)
returns table (organization_id uuid, public_key text, replaced_at timestamptz, seen_at timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select k.organization_id, k.public_key, k.replaced_at, clock_timestamp() from token_signing_keys k where k.kid = wanted $$;
