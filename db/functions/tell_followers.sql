-- Trigger: notifies the streams that follow a sync run, and those that follow the records that it published. Only a hint: followers also poll.
create or replace function tell_followers() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'sync_run_events' then
    perform pg_notify('streams', 'sync-run:' || new.run_id);
  elsif (new.status, new.mode, new.attempt, new.progress, new.counts, new.error)
      is distinct from (old.status, old.mode, old.attempt, old.progress, old.counts, old.error) then
    perform pg_notify('streams', 'sync-run:' || new.id);
    if new.status in ('succeeded', 'partial') and new.status <> old.status then
      perform pg_notify('streams', 'records:' || new.organization_id || ':' || new.record_type);
    end if;
  end if;
  return null;
end $$;
