-- Adds the request counts that one process collected for API keys of any organization. Counts of deleted keys are dropped.
-- Of each key and day the first 1,000 subjects are counted by name, the others as `other`.
-- Rows are written in key order, so that two processes can't deadlock.
create or replace function add_api_key_usage(counted jsonb) returns void language sql security definer set search_path = public, pg_temp as $$
  with calls as (
    select k.organization_id, c.*, coalesce(c.subject, '') as named
    from jsonb_to_recordset(counted) as c(api_key_id uuid, day date, version text, resource text, subject text,
      succeeded bigint, not_modified bigint, refused bigint, failed bigint)
    join api_keys k on k.id = c.api_key_id
  ), known as (
    select distinct u.api_key_id, u.day, u.subject
    from (select distinct organization_id, api_key_id, day from calls where named <> '') g
    join api_key_usage u using (organization_id, api_key_id, day) where u.subject <> ''
  ), added as (
    select n.api_key_id, n.day, n.subject,
      row_number() over (partition by n.api_key_id, n.day order by n.subject)
        + (select count(*) from known k where k.api_key_id = n.api_key_id and k.day = n.day) as position
    from (select api_key_id, day, named as subject from calls where named <> '' except select * from known) n
  )
  insert into api_key_usage as u (organization_id, api_key_id, day, version, resource, subject, succeeded, not_modified, refused, failed)
  select c.organization_id, c.api_key_id, c.day, c.version, c.resource, case when a.position > 1000 then 'other' else c.named end,
    sum(c.succeeded), sum(c.not_modified), sum(c.refused), sum(c.failed)
  from calls c left join added a on a.api_key_id = c.api_key_id and a.day = c.day and a.subject = c.named
  group by 1, 2, 3, 4, 5, 6
  order by 1, 2, 3, 4, 5, 6
  on conflict (organization_id, api_key_id, day, version, resource, subject) do update set
    succeeded = u.succeeded + excluded.succeeded, not_modified = u.not_modified + excluded.not_modified,
    refused = u.refused + excluded.refused, failed = u.failed + excluded.failed $$;
