-- Claims one mail that is due, or whose sender died before the message text was sent (SMTP DATA). A mail whose text was being sent may have
-- arrived: it becomes 'unknown' and is never resent automatically. Fair between organizations: the one with the fewest mails
-- in progress is next, then the one that has waited longest. Organizations are tried one by one, each with its own query, because
-- the planner may run a single nested query again for each row and lease a row each time.
create or replace function claim_outgoing_mail(new_lease uuid, lease_for interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
  perform note_server_timeline();
  update outgoing_mails m set status = 'unknown', body = null, last_error = 'The process that sent it ended before the server answered'
  where m.id in (
    select lost.id from outgoing_mails lost
    where lost.status = 'sending' and lost.lease_until < clock_timestamp() and lost.data_begun_at is not null for update skip locked);
  update outgoing_mails m set status = 'queued', lease_id = null, lease_until = null
  where m.id in (
    select lost.id from outgoing_mails lost
    where lost.status = 'sending' and lost.lease_until < clock_timestamp() and lost.data_begun_at is null for update skip locked);
  for turn in
    -- A loose index scan: one index probe per organization, however many rows each has queued.
    with recursive waiting (organization_id) as (
      (select q.organization_id from outgoing_mails q where q.status = 'queued' order by q.organization_id limit 1)
      union all
      select (select q.organization_id from outgoing_mails q where q.status = 'queued' and q.organization_id > w.organization_id
              order by q.organization_id limit 1)
      from waiting w where w.organization_id is not null)
    select w.organization_id from waiting w
    cross join lateral (
      select min(q.next_attempt_at) as at from outgoing_mails q where q.status = 'queued' and q.organization_id = w.organization_id) first
    cross join lateral (
      select count(*) as mails from outgoing_mails s where s.status = 'sending' and s.organization_id = w.organization_id) in_hand
    where first.at <= clock_timestamp()
    order by in_hand.mails, first.at
  loop
    return query
      with due as materialized (
        select c.id from outgoing_mails c
        where c.status = 'queued' and c.organization_id = turn and c.next_attempt_at <= clock_timestamp()
        order by c.next_attempt_at, c.id limit 1 for update skip locked)
      update outgoing_mails m
      set status = 'sending', attempts = m.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from due
      where m.id = due.id
      returning m.organization_id, m.id;
    if found then return; end if;
  end loop;
end $$;
