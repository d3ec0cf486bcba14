-- Queues a run for each due slot that has none yet, of any organization; returns how many. Configurations are processed in id order,
-- so that two processes can't deadlock. A queued run that would read only requested records becomes the slot's run.
create or replace function enqueue_scheduled_runs(due jsonb) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare made_count integer; raised_count integer;
begin
  with raised as (
    select r.id, d.slot, c.mode
    from jsonb_to_recordset(due) as d(run_id uuid, config_id uuid, slot timestamptz)
    join sync_configs c on c.id = d.config_id
    join sync_runs r on r.sync_config_id = c.id and r.status = 'queued' and r.mode = 'reread'
    where not exists (select from sync_runs s where s.sync_config_id = c.id and s.trigger = 'schedule' and s.scheduled_for = d.slot)
    order by c.id for update of r)
  update sync_runs r set mode = raised.mode, trigger = 'schedule', scheduled_for = raised.slot from raised where r.id = raised.id;
  get diagnostics raised_count = row_count;
  with made as (
    insert into sync_runs (id, organization_id, sync_config_id, record_type, mode, trigger, scheduled_for)
    select d.run_id, c.organization_id, c.id, c.record_type, c.mode, 'schedule', d.slot
    from jsonb_to_recordset(due) as d(run_id uuid, config_id uuid, slot timestamptz)
    join sync_configs c on c.id = d.config_id
    order by c.id
    on conflict do nothing
    returning organization_id, sync_config_id)
  select count(enqueue_job('sync_runs', m.organization_id, m.sync_config_id::text)) from made m into made_count;
  return made_count + raised_count;
end $$;
