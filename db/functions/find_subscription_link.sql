-- Finds the organization whose mail contained the unsubscribe token with this hash.
create or replace function find_subscription_link(hash bytea) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select l.organization_id from subscription_links l where l.token_hash = hash $$;
