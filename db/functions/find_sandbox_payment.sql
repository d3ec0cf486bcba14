-- Finds the organization whose sandbox payment page has the token with this hash.
create or replace function find_sandbox_payment(hash bytea) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select p.organization_id from sandbox_payments p where p.token_hash = hash $$;
