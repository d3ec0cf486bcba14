-- Queues a run for each due slot that has none yet, of any organization; returns how many. Configurations are processed in id order,
-- so that two processes can't deadlock.
create or replace function enqueue_scheduled_runs(due jsonb) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare made_count integer;
begin
  with made as (
    insert into sync_runs (id, organization_id, sync_config_id, record_type, mode, trigger, scheduled_for)
    select d.run_id, c.organization_id, c.id, c.record_type, c.mode, 'schedule', d.slot
    from jsonb_to_recordset(due) as d(run_id uuid, config_id uuid, slot timestamptz)
    join sync_configs c on c.id = d.config_id
    order by c.id
    on conflict do nothing
    returning organization_id, sync_config_id)
  select count(enqueue_job('sync_runs', m.organization_id, m.sync_config_id::text)) from made m into made_count;
  return made_count;
end $$;
