-- Claims a job for a process of the version before, which holds its lease in another table: the job leaves this one.
create or replace function take_older_job(job_kind text) returns table (organization_id uuid, key text, attempts integer, error text, payload jsonb)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare lease uuid := gen_random_uuid();
begin
  perform adopt_older_work();
  perform claim_job(job_kind, lease, interval '1 minute');
  return query delete from jobs j where j.kind = job_kind and j.lease_id = lease returning j.organization_id, j.key, j.attempts, j.error, j.payload;
end $$;
