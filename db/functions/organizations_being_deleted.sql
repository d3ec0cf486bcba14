-- Organizations whose deletion was requested more than a minute ago and has not ended: it was interrupted, or waits for a server of the
-- warehouse.
create or replace function organizations_being_deleted() returns table (id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select o.id from organizations o where o.deleting_since < clock_timestamp() - interval '1 minute' order by o.deleting_since $$;
