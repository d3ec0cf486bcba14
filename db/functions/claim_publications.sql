-- For processes of the version before: see adopt_older_work.
create or replace function claim_publications(lease interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select * into job from take_older_job('publications');
  return query update api_schemas s set publication_lease_until = clock_timestamp() + lease
    where s.id = job.key::uuid and s.status = 'draft' and s.publication ->> 'status' = 'running' returning s.organization_id, s.id;
end $$;
