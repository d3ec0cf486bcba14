-- Claims one due task of the payment worker. Fair between organizations, as in claim_outgoing_mail.
create or replace function claim_pay_task(new_lease uuid, lease_for interval)
returns table (organization_id uuid, account_id uuid, kind text, subject text, wakes integer, attempts integer)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
  perform note_server_timeline();
  for turn in
    with recursive waiting (organization_id) as (
      (select q.organization_id from pay_tasks q order by q.organization_id limit 1)
      union all
      select (select q.organization_id from pay_tasks q where q.organization_id > w.organization_id order by q.organization_id limit 1)
      from waiting w where w.organization_id is not null)
    select w.organization_id from waiting w
    cross join lateral (
      select q.due_at as at from pay_tasks q
      where q.organization_id = w.organization_id and q.due_at <= clock_timestamp()
        and (q.lease_until is null or q.lease_until < clock_timestamp())
      order by q.due_at limit 1) first
    cross join lateral (
      select count(*) as tasks from pay_tasks l
      where l.organization_id = w.organization_id and l.lease_id is not null and l.lease_until >= clock_timestamp()) in_hand
    order by in_hand.tasks, first.at
  loop
    return query
      with due as materialized (
        select c.account_id, c.kind, c.subject from pay_tasks c
        where c.organization_id = turn and c.due_at <= clock_timestamp() and (c.lease_until is null or c.lease_until < clock_timestamp())
        order by c.due_at limit 1 for update skip locked)
      update pay_tasks t
      set attempts = t.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from due
      where t.account_id = due.account_id and t.kind = due.kind and t.subject = due.subject
      returning t.organization_id, t.account_id, t.kind, t.subject, t.wakes, t.attempts;
    if found then return; end if;
  end loop;
end $$;
