-- For processes of the version before: see adopt_older_work.
create or replace function claim_sandbox_event(lease interval) returns table (organization_id uuid, id text, attempts integer)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select * into job from take_older_job('sandbox_events');
  return query update sandbox_events e set attempts = job.attempts, next_attempt_at = clock_timestamp() + lease
    where e.id = job.key returning e.organization_id, e.id, e.attempts;
end $$;
