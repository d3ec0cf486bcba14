-- Adds the request counts that one process collected for API keys of any organization. Counts of deleted keys are dropped.
-- Rows are written in key order, so that two processes can't deadlock.
create or replace function add_api_key_usage(counted jsonb) returns void language sql security definer set search_path = public, pg_temp as $$
  insert into api_key_usage as u (organization_id, api_key_id, day, version, resource, succeeded, not_modified, refused, failed)
  select k.organization_id, k.id, c.day, c.version, c.resource, c.succeeded, c.not_modified, c.refused, c.failed
  from jsonb_to_recordset(counted) as c(api_key_id uuid, day date, version text, resource text,
    succeeded bigint, not_modified bigint, refused bigint, failed bigint)
  join api_keys k on k.id = c.api_key_id
  order by 1, 2, 3, 4, 5
  on conflict (organization_id, api_key_id, day, version, resource) do update set
    succeeded = u.succeeded + excluded.succeeded, not_modified = u.not_modified + excluded.not_modified,
    refused = u.refused + excluded.refused, failed = u.failed + excluded.failed $$;
