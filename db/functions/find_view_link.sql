-- Finds the organization whose link to a view has the token with this hash, unless it is being deleted.
create or replace function find_view_link(hash bytea) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select l.organization_id from view_links l join organizations o on o.id = l.organization_id
  where l.token_hash = hash and o.deleting_since is null $$;
