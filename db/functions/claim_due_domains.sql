-- For processes of the version before: see adopt_older_work.
create or replace function claim_due_domains(most integer, lease interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select * into job from take_older_job('domains');
  return query update domains d set next_check_at = clock_timestamp() + lease
    where d.id = job.key::uuid and d.status in ('pending', 'verified') returning d.organization_id, d.id;
end $$;
