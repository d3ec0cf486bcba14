-- Makes jobs of the open work that processes of the version before have in tables of their own, unless one of them holds its lease there.
-- Their leases are replaced, so that a process that lost one writes nothing more. Called at intervals, and by the functions that those
-- processes claim with: all of this ends with the next version.
create or replace function adopt_older_work() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('adopt_older_work', 0));
  with open as (
    update outgoing_mails m set lease_id = gen_random_uuid(), lease_until = null
    where (m.status = 'queued' or m.status = 'sending' and m.lease_until < clock_timestamp())
      and not exists (select from jobs j where j.kind = 'mails' and j.organization_id = m.organization_id and j.key = m.id::text)
    returning m.organization_id, m.id, m.next_attempt_at)
  insert into jobs (kind, organization_id, key, due_at)
  select 'mails', organization_id, id, next_attempt_at from open on conflict do nothing;
  with open as (
    update subscription_slots s set lease_id = null, lease_until = null
    where s.status = 'waiting' and (s.lease_until is null or s.lease_until < clock_timestamp())
      and not exists (select from jobs j where j.kind = 'subscription_slots' and j.organization_id = s.organization_id and j.key = s.id::text)
    returning s.organization_id, s.id, s.next_attempt_at, s.attempts)
  insert into jobs (kind, organization_id, key, due_at, attempts)
  select 'subscription_slots', organization_id, id, next_attempt_at, attempts from open on conflict do nothing;
  with open as (
    delete from pay_tasks t where t.lease_until is null or t.lease_until < clock_timestamp() returning t.*)
  insert into jobs as held (kind, organization_id, key, due_at, attempts, error, payload)
  select 'pay_tasks', organization_id, concat_ws('/', account_id, kind, subject), due_at, attempts, error,
    jsonb_build_object('accountId', account_id, 'kind', kind, 'subject', subject) from open
  on conflict (kind, organization_id, key) do update set requests = held.requests + 1,
    due_at = case when held.lease_id is null then least(held.due_at, excluded.due_at) else held.due_at end;
  with open as (
    update pay_erp_documents p set lease_id = null, lease_until = null
    where p.kind = 'payment' and (p.lease_until is null or p.lease_until < clock_timestamp())
      and exists (select from pay_configs c where c.organization_id = p.organization_id and c.write_back <> 'false')
      and exists (select from pay_erp_documents d where d.payment_id = p.payment_id and d.status = 'PENDING')
      and not exists (select from jobs j where j.kind = 'pay_erp_documents' and j.organization_id = p.organization_id and j.key = p.payment_id::text)
    returning p.organization_id, p.payment_id)
  insert into jobs (kind, organization_id, key)
  select 'pay_erp_documents', organization_id, payment_id from open on conflict do nothing;
  insert into jobs (kind, organization_id, key, due_at)
  select 'domains', d.organization_id, d.id, coalesce(d.next_check_at, clock_timestamp()) from domains d
  where d.status in ('pending', 'verified') and coalesce(d.next_check_at <= clock_timestamp(), true)
    and not exists (select from jobs j where j.kind = 'domains' and j.organization_id = d.organization_id and j.key = d.id::text)
  on conflict do nothing;
  insert into jobs (kind, organization_id, key)
  select 'agent_checks', a.organization_id, a.id from agents a
  where a.status in ('provisioning', 'restarting') and (a.lease_until is null or a.lease_until < clock_timestamp()) on conflict do nothing;
  insert into jobs (kind, organization_id, key)
  select 'publications', s.organization_id, s.id from api_schemas s
  where s.status = 'draft' and s.publication ->> 'status' = 'running'
    and (s.publication_lease_until is null or s.publication_lease_until < clock_timestamp()) on conflict do nothing;
  with open as (
    update sandbox_events e set next_attempt_at = null from sandbox_events before
    where before.id = e.id and e.next_attempt_at <= clock_timestamp() returning e.organization_id, e.id, before.next_attempt_at, e.attempts)
  insert into jobs (kind, organization_id, key, due_at, attempts)
  select 'sandbox_events', organization_id, id, next_attempt_at, attempts from open on conflict do nothing;
  insert into jobs (kind, organization_id, key)
  select distinct 'sync_runs', r.organization_id, r.sync_config_id::text from sync_runs r
  where r.status in ('queued', 'running', 'waiting', 'publishing') on conflict do nothing;
end $$;
