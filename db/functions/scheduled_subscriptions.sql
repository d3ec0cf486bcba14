-- Every enabled subscription schedule with its last slot, for the scheduler's tick.
create or replace function scheduled_subscriptions()
returns table (organization_id uuid, id uuid, schedule text, timezone text, last_slot timestamptz, since timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select s.organization_id, s.id, s.schedule, s.timezone,
         (select max(l.slot) from subscription_slots l where l.subscription_id = s.id and l.trigger = 'schedule'), s.scheduled_since
  from subscriptions s where s.enabled $$;
