-- For processes of the version before: see adopt_older_work.
create or replace function claim_sync_run(worker text, lease interval) returns table (organization_id uuid, run_id uuid, lease_epoch integer, taken_over boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select s.* into job from take_older_job('sync_runs') j cross join lateral start_sync_run(j.key::uuid, worker) s where s.lease_epoch is not null;
  return query update sync_runs r set lease_until = clock_timestamp() + lease where r.id = job.run_id
    returning r.organization_id, r.id, r.lease_epoch, false;
end $$;
