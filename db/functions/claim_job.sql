-- Claims the next due job of a kind under a new lease; no row when none is due. Fair between organizations: the one with the fewest jobs in
-- progress is next, then the one that has waited longest. Organizations are tried one by one, each with its own query, because the planner
-- may run a single nested query again for each row and lease a row each time. With `claimant`, a worker that is late with the renewal of
-- its own lease has the time of another one. Work on records waits while they are on the former server of a move.
create or replace function claim_job(job_kind text, new_lease uuid, lease_for interval, claimant text default null)
returns table (organization_id uuid, key text, requests integer, attempts integer, error text, payload jsonb)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
  perform note_server_timeline();
  if not exists (select from jobs j where j.kind = job_kind and j.due_at <= clock_timestamp()) then return; end if;
  for turn in
    -- A loose index scan: one index probe per organization, however many jobs each has.
    with recursive waiting (organization_id) as (
      (select j.organization_id from jobs j where j.kind = job_kind order by j.organization_id limit 1)
      union all
      select (select j.organization_id from jobs j where j.kind = job_kind and j.organization_id > w.organization_id order by j.organization_id limit 1)
      from waiting w where w.organization_id is not null)
    select w.organization_id from waiting w
    join organizations o on o.id = w.organization_id and (o.warehouse = 'current' or job_kind not in ('sync_runs', 'publications'))
    cross join lateral (
      select j.due_at from jobs j where j.kind = job_kind and j.organization_id = w.organization_id order by j.due_at limit 1) first
    cross join lateral (
      select count(*) as jobs from jobs j
      where j.kind = job_kind and j.organization_id = w.organization_id and j.lease_id is not null and j.due_at > clock_timestamp()) in_progress
    where first.due_at <= clock_timestamp()
    order by in_progress.jobs, first.due_at
  loop
    return query
      with due as materialized (
        select c.kind, c.organization_id, c.key from jobs c
        where c.kind = job_kind and c.organization_id = turn
          and c.due_at <= clock_timestamp() - case when c.lease_id is not null and c.worker = claimant then lease_for else interval '0' end
        order by c.due_at, c.key limit 1 for update skip locked)
      update jobs j
      set attempts = j.attempts + 1, lease_id = new_lease, due_at = clock_timestamp() + lease_for, worker = claimant
      from due
      where j.kind = due.kind and j.organization_id = due.organization_id and j.key = due.key
      returning j.organization_id, j.key, j.requests, j.attempts, j.error, j.payload;
    if found then return; end if;
  end loop;
end $$;
