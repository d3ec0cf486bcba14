-- Records the timeline of this server. When it is a new one, commits of the one before may be lost, and what was due by now may have been
-- sent by one of them. So mails and slots of an earlier timeline that were due become 'unknown', and only a person sends them; each payment
-- account is listed again from a day before the last commit that survived; the ERP is asked for a payment before it is written; a webhook's
-- waiting messages about changed records are withdrawn, and composed again under other ids.
-- Everything that sends calls this function first, so that nothing is sent on a new timeline before that. The advisory lock lets one
-- caller act while the others wait.
create or replace function note_server_timeline() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  here text;
  reason constant text := 'The database server failed over: this may have been sent before';
  last server_timelines;
  survived timestamptz;
begin
  -- As any write would; server_timeline() fails with another code there.
  if pg_is_in_recovery() then raise read_only_sql_transaction using message = 'the server is a standby'; end if;
  here := server_timeline();
  select * into last from server_timelines order by id desc limit 1;
  if last.timeline = here then
    if last.alive_at < clock_timestamp() - interval '10 seconds' then
      update server_timelines t set alive_at = clock_timestamp()
      where t.id = (select c.id from server_timelines c where c.id = last.id for no key update skip locked);
    end if;
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('server timeline', 0));
  select * into last from server_timelines order by id desc limit 1;
  if last.timeline = here then return; end if;
  if last.id is null then
    insert into server_timelines (timeline) values (here);
    return;
  end if;
  -- Null when this server was restarted since its promotion.
  survived := least(coalesce(pg_last_xact_replay_timestamp(), last.alive_at), clock_timestamp());
  insert into server_timelines (timeline, survived_at) values (here, survived);
  update outgoing_mails m set status = 'unknown', last_error = reason
  where m.timeline is distinct from here and (m.status = 'sending' or m.status = 'queued' and not exists (
    select from jobs j
    where j.kind = 'mails' and j.organization_id = m.organization_id and j.key = m.id::text and j.lease_id is null and j.due_at > clock_timestamp()));
  with lost as (
    update subscription_slots s set status = 'failed', error = reason, lease_id = null, lease_until = null
    where s.timeline is distinct from here and s.status = 'waiting' and not exists (
      select from jobs j where j.kind = 'subscription_slots' and j.organization_id = s.organization_id and j.key = s.id::text
        and j.lease_id is null and j.due_at > clock_timestamp())
    returning s.id)
  update subscription_deliveries d set status = 'unknown', error = reason
  from lost where d.slot_id = lost.id and d.status = 'queued' and d.mail_id is null;
  update pay_accounts a set looked_until = least(a.looked_until, survived - interval '1 day'), incomplete_since = clock_timestamp();
  perform enqueue_job('pay_tasks', a.organization_id, concat_ws('/', a.id, 'account', ''), '0',
    jsonb_build_object('accountId', a.id, 'kind', 'account', 'subject', '')) from pay_accounts a;
  update pay_erp_documents d set attempts = greatest(d.attempts, 1) where d.status = 'PENDING';
  update webhook_messages m set status = 'superseded', ended_at = clock_timestamp() where m.status = 'waiting' and m.resource is not null;
end $$;
