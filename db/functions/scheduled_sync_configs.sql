-- Every enabled sync schedule with its last slot, for the scheduler's tick.
create or replace function scheduled_sync_configs()
returns table (organization_id uuid, id uuid, schedule text, timezone text, last_slot timestamptz, since timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select c.organization_id, c.id, c.schedule, c.timezone,
         (select max(r.scheduled_for) from sync_runs r where r.sync_config_id = c.id and r.trigger = 'schedule'),
         c.scheduled_since
  from sync_configs c where c.enabled and c.schedule is not null and c.paused_reason is null $$;
