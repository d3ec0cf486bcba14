-- Claims up to `most` pending or verified domains whose next check is due, each for one process. The next check moves back by the
-- lease, so a process that dies delays the check and loses nothing. Processes of the version before set no next check when they
-- verify a domain: it is due.
create or replace function claim_due_domains(most integer, lease interval) returns table (organization_id uuid, id uuid)
language sql security definer set search_path = public, pg_temp as $$
  with due as (
    select d.id from domains d
    where d.status in ('pending', 'verified') and (d.next_check_at <= clock_timestamp() or d.next_check_at is null)
    order by d.next_check_at nulls first limit most for update skip locked
  )
  update domains d set next_check_at = clock_timestamp() + lease from due where d.id = due.id
  returning d.organization_id, d.id $$;
