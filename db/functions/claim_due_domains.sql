-- Claims up to `most` pending domains whose next check is due, each for one process. The next check moves back by the lease,
-- so a process that dies delays the check and loses nothing.
create or replace function claim_due_domains(most integer, lease interval) returns table (organization_id uuid, id uuid)
language sql security definer set search_path = public, pg_temp as $$
  with due as (
    select d.id from domains d where d.status = 'pending' and d.next_check_at <= clock_timestamp()
    order by d.next_check_at limit most for update skip locked
  )
  update domains d set next_check_at = clock_timestamp() + lease from due where d.id = due.id
  returning d.organization_id, d.id $$;
