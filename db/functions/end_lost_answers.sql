-- Fails agent messages whose process died: they cost nothing and their held credits are released. Returns how many.
create or replace function end_lost_answers() returns integer
language sql security definer set search_path = public, pg_temp as $$
  with lost as (
    delete from running_answers r where r.lease_until < clock_timestamp() returning r.*
  ), failed as (
    update conversation_messages m set status = 'failed', finished_at = clock_timestamp(),
      error = '{"code": "interrupted", "message": "The service was interrupted while it answered; ask again"}'
    from lost where m.id = lost.message_id
  ), entered as (
    insert into agent_credit_entries (id, organization_id, month, credits, kind, message_id, agent_id)
    select gen_random_uuid(), lost.organization_id, lost.month, 0, 'message', lost.message_id, lost.agent_id from lost
    on conflict (message_id) do nothing
  )
  select count(*)::integer from lost $$;
