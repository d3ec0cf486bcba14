-- Claims the oldest run that can be worked on (queued, due after a wait, or abandoned by a dead worker) and gives it a new lease.
-- Runs of an organization wait while its records are on the former server of a move.
-- Returns no row when there is none, or after 20 attempts that collided with other workers.
-- A worker that is alive and late with its renewal doesn't take its own run over: it has the time of another lease to renew it.
-- Reclaiming the run of a dead worker adds one to attempts_without_progress. A worker that hands its run over clears lease_owner first,
-- so a handover doesn't count.
create or replace function claim_sync_run(worker text, lease interval)
returns table (organization_id uuid, run_id uuid, lease_epoch integer, taken_over boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  chosen sync_runs%rowtype;
  lease_number integer;
begin
  for try in 1..20 loop
    select * into chosen from sync_runs r
    where ((r.status = 'queued' and not exists (
              select from sync_runs other where other.sync_config_id = r.sync_config_id and other.status in ('running', 'waiting', 'publishing')))
        or (r.status = 'waiting' and r.wake_at <= clock_timestamp())
        or (r.status in ('running', 'publishing')
            and r.lease_until < clock_timestamp() - case when r.lease_owner = worker then lease else interval '0' end))
      and not exists (select from organizations o where o.id = r.organization_id and o.warehouse <> 'current')
    order by r.queued_at, r.id limit 1 for update skip locked;
    if not found then return; end if;
    begin
      update sync_runs r set
        status = case when r.status = 'publishing' then 'publishing' else 'running' end,
        lease_epoch = next_lease_epoch(r.lease_epoch), lease_until = clock_timestamp() + lease, lease_owner = worker, wake_at = null, staged = true,
        attempt = r.attempt + 1, started_at = coalesce(r.started_at, clock_timestamp()),
        attempts_without_progress = r.attempts_without_progress
          + case when r.status in ('running', 'publishing') and r.lease_owner is not null then 1 else 0 end
      where r.id = chosen.id returning r.lease_epoch into lease_number;
      return query select chosen.organization_id, chosen.id, lease_number, chosen.status in ('running', 'publishing');
      return;
    exception when unique_violation then null; -- another run of this configuration became active meanwhile: try again
    end;
  end loop;
end $$;
