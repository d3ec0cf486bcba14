-- Trigger: a schedule that is changed or enabled starts counting slots from now and does not catch up on earlier ones. Other changes
-- of a configuration (its name, the end of a pause) keep a slot that is due.
create or replace function note_schedule_change() returns trigger language plpgsql as $$
begin
  if (new.schedule, new.timezone, new.enabled) is distinct from (old.schedule, old.timezone, old.enabled) then
    new.scheduled_since := clock_timestamp();
  end if;
  return new;
end $$;
