-- For processes of the version before: see adopt_older_work.
create or replace function claim_agent_checks(most integer, lease interval) returns table (organization_id uuid, id uuid, epoch integer)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select * into job from take_older_job('agent_checks');
  return query update agents a set lease_until = clock_timestamp() + lease
    where a.id = job.key::uuid and a.status in ('provisioning', 'restarting') returning a.organization_id, a.id, a.epoch;
end $$;
