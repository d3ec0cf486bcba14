-- Finds the invitation whose token has this hash. Whether it may be accepted is decided within its organization.
create or replace function find_invitation(hash bytea) returns table (id uuid, organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select i.id, i.organization_id from invitations i where i.token_hash = hash $$;
