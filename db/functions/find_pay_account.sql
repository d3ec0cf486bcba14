-- Finds the organization and payment provider that a webhook address belongs to.
create or replace function find_pay_account(endpoint uuid) returns table (organization_id uuid, provider text)
language sql stable security definer set search_path = public, pg_temp as $$
  select a.organization_id, a.provider from pay_accounts a where a.id = endpoint $$;
