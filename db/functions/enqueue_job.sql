-- Makes a job due after `wait`; one that is open already is due at the earlier of both times, and is done once more when it is in progress.
-- Wakes the workers of its kind when the transaction commits.
create or replace function enqueue_job(job_kind text, organization uuid, job_key text, wait interval default '0', job_payload jsonb default null)
returns void language plpgsql set search_path = public, pg_temp as $$
begin
  insert into jobs as held (kind, organization_id, key, due_at, payload)
  values (job_kind, organization, job_key, clock_timestamp() + wait, job_payload)
  on conflict (kind, organization_id, key) do update set
    requests = held.requests + 1,
    due_at = case when held.lease_id is null then least(held.due_at, excluded.due_at) else held.due_at end,
    payload = coalesce(excluded.payload, held.payload);
  if wait <= interval '0' then perform pg_notify('jobs', job_kind); end if;
end $$;
