-- For processes of the version before: see adopt_older_work.
create or replace function claim_pay_task(new_lease uuid, lease_for interval) returns table (organization_id uuid, account_id uuid, kind text, subject text, wakes integer, attempts integer)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select * into job from take_older_job('pay_tasks');
  if job.key is null then return; end if;
  insert into pay_tasks as held (organization_id, account_id, kind, subject, attempts, error, lease_id, lease_until)
  values (job.organization_id, (job.payload ->> 'accountId')::uuid, job.payload ->> 'kind', job.payload ->> 'subject', job.attempts, job.error,
    new_lease, clock_timestamp() + lease_for)
  on conflict on constraint pay_tasks_pkey do update set wakes = held.wakes + 1;
  return query select t.organization_id, t.account_id, t.kind, t.subject, t.wakes, t.attempts from pay_tasks t where t.lease_id = new_lease;
end $$;
