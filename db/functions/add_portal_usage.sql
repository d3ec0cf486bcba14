-- Adds the requests of visitors that one process counted for any organization. Counts of deleted organizations are dropped.
-- Rows are written in key order, so that two processes can't deadlock.
create or replace function add_portal_usage(counted jsonb) returns void language sql security definer set search_path = public, pg_temp as $$
  insert into portal_usage as u (organization_id, email, day, record_type, succeeded, refused, failed)
  select o.id, c.email, c.day, c.record_type, c.succeeded + c.not_modified, c.refused, c.failed
  from jsonb_to_recordset(counted) as c(organization_id uuid, email text, day date, record_type text,
    succeeded bigint, not_modified bigint, refused bigint, failed bigint)
  join organizations o on o.id = c.organization_id
  order by 1, 2, 3, 4
  on conflict (organization_id, email, day, record_type) do update set
    succeeded = u.succeeded + excluded.succeeded, refused = u.refused + excluded.refused, failed = u.failed + excluded.failed $$;
