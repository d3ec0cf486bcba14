// Fair queues for mails and subscription slots: one organization's thousands of entries don't delay the others. Next is the
// organization with the fewest entries in progress; among equals, the one that has waited longest.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

-- Waiting mails by organization; replaces the index by time alone.
create index outgoing_mails_by_turn on outgoing_mails (organization_id, next_attempt_at, id) where status = 'queued';
create index outgoing_mails_in_hand on outgoing_mails (organization_id, lease_until) where status = 'sending';
drop index outgoing_mails_next_attempt_at_id_idx;
create index subscription_slots_by_turn on subscription_slots (organization_id, next_attempt_at, id) where status = 'waiting';
create index subscription_slots_in_hand on subscription_slots (organization_id, lease_until) where status = 'waiting' and lease_id is not null;
drop index subscription_slots_next_attempt_at_id_idx;

create or replace function claim_outgoing_mail(new_lease uuid, lease_for interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
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
      update outgoing_mails m
      set status = 'sending', attempts = m.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from (
        select c.id from outgoing_mails c
        where c.status = 'queued' and c.organization_id = turn and c.next_attempt_at <= clock_timestamp()
        order by c.next_attempt_at, c.id limit 1 for update skip locked) due
      where m.id = due.id
      returning m.organization_id, m.id;
    if found then return; end if;
  end loop;
end $$;

create or replace function claim_subscription_slot(new_lease uuid, lease_for interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
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
      update subscription_slots s
      set attempts = s.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from (
        select c.id from subscription_slots c
        where c.status = 'waiting' and c.organization_id = turn and c.next_attempt_at <= clock_timestamp()
          and (c.lease_until is null or c.lease_until < clock_timestamp())
        order by c.next_attempt_at, c.id limit 1 for update skip locked) due
      where s.id = due.id
      returning s.organization_id, s.id;
    if found then return; end if;
  end loop;
end $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
