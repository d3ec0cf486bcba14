-- For processes of the version before: see adopt_older_work.
create or replace function claim_subscription_slot(new_lease uuid, lease_for interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select * into job from take_older_job('subscription_slots');
  return query update subscription_slots s set attempts = job.attempts, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
    where s.id = job.key::uuid and s.status = 'waiting' returning s.organization_id, s.id;
end $$;
