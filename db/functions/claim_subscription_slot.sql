-- Claims one subscription slot that is due, or whose worker died. Fair between organizations, as in claim_outgoing_mail.
create or replace function claim_subscription_slot(new_lease uuid, lease_for interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
  perform note_server_timeline();
  for turn in
    with recursive waiting (organization_id) as (
      (select q.organization_id from subscription_slots q where q.status = 'waiting' order by q.organization_id limit 1)
      union all
      select (select q.organization_id from subscription_slots q where q.status = 'waiting' and q.organization_id > w.organization_id
              order by q.organization_id limit 1)
      from waiting w where w.organization_id is not null)
    select w.organization_id from waiting w
    cross join lateral (
      select q.next_attempt_at as at from subscription_slots q
      where q.status = 'waiting' and q.organization_id = w.organization_id and (q.lease_until is null or q.lease_until < clock_timestamp())
      order by q.next_attempt_at limit 1) first
    cross join lateral (
      select count(*) as slots from subscription_slots l
      where l.status = 'waiting' and l.lease_id is not null and l.organization_id = w.organization_id
        and l.lease_until >= clock_timestamp()) in_hand
    where first.at <= clock_timestamp()
    order by in_hand.slots, first.at
  loop
    return query
      with due as materialized (
        select c.id from subscription_slots c
        where c.status = 'waiting' and c.organization_id = turn and c.next_attempt_at <= clock_timestamp()
        and (c.lease_until is null or c.lease_until < clock_timestamp())
        order by c.next_attempt_at, c.id limit 1 for update skip locked)
      update subscription_slots s
      set attempts = s.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from due
      where s.id = due.id
      returning s.organization_id, s.id;
    if found then return; end if;
  end loop;
end $$;
