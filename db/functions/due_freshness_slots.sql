-- Extra slots of syncs with a freshness target: when the age of the data plus the median duration of the last twenty published runs has
-- reached the target and no run is open, and again each time that the target has passed since, until a run is published.
create or replace function due_freshness_slots() returns table (config_id uuid, slot timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select c.id, s.slot
  from sync_configs c
  cross join lateral (select make_interval(mins => c.freshness_target) as target) t
  cross join lateral (
    select coalesce(percentile_cont(0.5) within group (order by extract(epoch from k.finished_at - k.started_at)), 0)::float8 as seconds,
      max(k.started_at) as started_at
    from (
      select r.started_at, r.finished_at from sync_runs r
      where r.sync_config_id = c.id and r.status in ('succeeded', 'partial') and r.mode <> 'reread'
      order by r.queued_at desc, r.id desc limit 20) k) runs
  cross join lateral (
    select coalesce(runs.started_at, c.created_at) + greatest(t.target - make_interval(secs => runs.seconds), interval '0') as at) due
  cross join lateral (
    select date_trunc('second', due.at + floor(extract(epoch from clock_timestamp() - due.at) / extract(epoch from t.target)) * t.target) as slot) s
  where c.freshness_target is not null and c.enabled and c.paused_reason is null and due.at <= clock_timestamp()
    and not exists (
      select from sync_runs r where r.sync_config_id = c.id and r.mode <> 'reread' and r.status in ('queued', 'running', 'waiting', 'publishing'))
    and not exists (
      select from sync_runs r where r.sync_config_id = c.id and r.trigger = 'schedule' and r.scheduled_for = s.slot) $$;
