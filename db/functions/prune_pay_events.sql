-- Deletes payment events after 90 days (providers resend an event for days, not months). Returns how many.
create or replace function prune_pay_events() returns integer
language sql security definer set search_path = public, pg_temp as $$
  with gone as (delete from pay_events where received_at < clock_timestamp() - interval '90 days' returning 1)
  select count(*)::integer from gone $$;
