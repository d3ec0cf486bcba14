// A claim takes one row. Where table statistics said one row, the planner ran the inner query of these claims again for each row:
// each time the next row was locked and leased, and only the first was returned.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
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

create or replace function claim_pay_task(new_lease uuid, lease_for interval)
returns table (organization_id uuid, account_id uuid, kind text, subject text, wakes integer, attempts integer)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
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

create or replace function claim_sandbox_event(lease interval) returns table (organization_id uuid, id text, attempts integer)
language sql security definer set search_path = public, pg_temp as $$
  with chosen as materialized (
    select due.id from sandbox_events due where due.next_attempt_at <= clock_timestamp()
    order by due.next_attempt_at, due.id limit 1 for update skip locked)
  update sandbox_events e
  set attempts = e.attempts + 1, next_attempt_at = clock_timestamp() + lease
  from chosen
  where e.id = chosen.id
  returning e.organization_id, e.id, e.attempts $$;

create or replace function claim_pay_erp_payment(new_lease uuid, lease_for interval) returns table (organization_id uuid, payment_id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare turn uuid;
begin
  for turn in
    with recursive waiting (organization_id) as (
      (select q.organization_id from pay_erp_documents q where q.status = 'PENDING' order by q.organization_id limit 1)
      union all
      select (select q.organization_id from pay_erp_documents q where q.status = 'PENDING' and q.organization_id > w.organization_id
              order by q.organization_id limit 1)
      from waiting w where w.organization_id is not null)
    select w.organization_id from waiting w
    join pay_configs c on c.organization_id = w.organization_id and c.write_back <> 'false'
    cross join lateral (
      select min(q.next_attempt_at) as at from pay_erp_documents q where q.status = 'PENDING' and q.organization_id = w.organization_id) first
    cross join lateral (
      select count(*) as payments from pay_erp_documents l
      where l.lease_id is not null and l.organization_id = w.organization_id and l.lease_until >= clock_timestamp()) in_hand
    where first.at <= clock_timestamp()
      and not exists (
        select from pay_erp_documents h where h.organization_id = w.organization_id and h.holds_account_until > clock_timestamp())
    order by in_hand.payments, first.at
  loop
    return query
      with free as materialized (
        select own.id from pay_erp_documents due
        join pay_erp_documents own on own.payment_id = due.payment_id and own.kind = 'payment'
        where due.organization_id = turn and due.status = 'PENDING' and due.next_attempt_at <= clock_timestamp()
        and (due.id = own.id or own.status in ('LANDED', 'PARTLY_APPLIED'))
        and (own.lease_until is null or own.lease_until < clock_timestamp())
        order by due.next_attempt_at, due.id limit 1 for update of own skip locked)
      update pay_erp_documents p
      set lease_id = new_lease, lease_until = clock_timestamp() + lease_for
      from free
      where p.id = free.id
      returning p.organization_id, p.payment_id;
    if found then return; end if;
  end loop;
end $$;

create or replace function claim_agent_checks(most integer, lease interval) returns table (organization_id uuid, id uuid, epoch integer)
language sql security definer set search_path = public, pg_temp as $$
  with chosen as materialized (
    select due.id from agents due
    where due.status in ('provisioning', 'restarting') and (due.lease_until is null or due.lease_until < clock_timestamp())
    order by due.updated_at, due.id limit most for update skip locked)
  update agents a
  set lease_until = clock_timestamp() + lease
  from chosen
  where a.id = chosen.id
  returning a.organization_id, a.id, a.epoch $$;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
