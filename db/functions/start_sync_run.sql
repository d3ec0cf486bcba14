-- Begins or continues the run of a configuration whose job the worker holds: the active one, or else the queued one. Without a lease_epoch it
-- isn't due before `wait` has passed. No row when the configuration has no open run.
-- Continuing the run of a dead worker adds one to attempts_without_progress. A worker that hands its run over clears lease_owner first, so a
-- handover doesn't count. A process of the version before holds its lease in lease_until.
create or replace function start_sync_run(config uuid, worker text) returns table (run_id uuid, lease_epoch integer, wait interval)
language plpgsql set search_path = public, pg_temp as $$
#variable_conflict use_column
declare chosen sync_runs%rowtype;
begin
  select * into chosen from sync_runs r
  where r.sync_config_id = config and r.status in ('queued', 'running', 'waiting', 'publishing')
  order by r.status = 'queued', r.queued_at, r.id limit 1 for update;
  if not found then return; end if;
  run_id := chosen.id;
  wait := coalesce(chosen.wake_at, chosen.lease_until) - clock_timestamp();
  if wait > interval '0' then return next; return; end if;
  update sync_runs r set
    status = case when r.status = 'publishing' then 'publishing' else 'running' end,
    lease_epoch = next_lease_epoch(r.lease_epoch), lease_until = null, lease_owner = worker, wake_at = null, staged = true,
    attempt = r.attempt + 1, started_at = coalesce(r.started_at, clock_timestamp()),
    attempts_without_progress = r.attempts_without_progress
      + case when r.status in ('running', 'publishing') and r.lease_owner is not null then 1 else 0 end
  where r.id = chosen.id returning r.lease_epoch into lease_epoch;
  return next;
end $$;
