-- Organizations with a transferred key whose secret has ended without a report to the member for whom the key acts.
create or replace function organizations_with_ended_secret() returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select distinct k.organization_id from api_keys k
  where k.secret_ends_at <= clock_timestamp() and not k.secret_end_reported and k.revoked_at is null
  order by k.organization_id $$;
