-- Syncs whose last published run started longer ago than their freshness target, and whose recipients don't know yet. Disabled and paused
-- ones count too, as nothing updates their data.
create or replace function newly_stale_syncs() returns table (organization_id uuid, id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select c.organization_id, c.id
  from sync_configs c left join sync_alerts a on a.sync_config_id = c.id
  where c.freshness_target is not null and a.stale_since is null
    and coalesce(
      (select r.started_at from sync_runs r
       where r.sync_config_id = c.id and r.status in ('succeeded', 'partial') and r.mode <> 'reread'
       order by r.queued_at desc, r.id desc limit 1), c.created_at) < clock_timestamp() - make_interval(mins => c.freshness_target)
  order by c.organization_id, c.id $$;
