-- Finds the session whose token has this hash, with its user.
create or replace function find_session(hash bytea) returns table (
  id uuid, user_id uuid, user_email text, user_name text, active_organization_id uuid,
  created_at timestamptz, last_seen_at timestamptz, seen_at timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select s.id, u.id, u.email, u.name, s.active_organization_id, s.created_at, s.last_seen_at, clock_timestamp()
  from sessions s join users u on u.id = s.user_id where s.token_hash = hash $$;
