-- Organizations whose active signing certificate expires within the given time.
create or replace function organizations_with_expiring_certificate(within interval) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select distinct c.organization_id from erp_certificates c where c.active and c.not_after <= clock_timestamp() + within
  order by 1 $$;
