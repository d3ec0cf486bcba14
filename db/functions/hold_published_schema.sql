-- Trigger: makes published API schemas immutable. Only status and its dates may change, and only deleting the organization deletes one.
create or replace function hold_published_schema() returns trigger language plpgsql as $$
declare free constant text[] := '{status,sunset_at,deprecated_at,updated_at}';
begin
  if tg_op = 'DELETE' then
    if old.status <> 'draft' and old.version like 'v%' and exists (select from organizations o where o.id = old.organization_id) then
      raise exception 'Published schemas are immutable' using errcode = 'check_violation', constraint = 'published_is_immutable';
    end if;
    return old;
  end if;
  if old.status = 'draft' then return new; end if;
  if new.status = 'draft' or (to_jsonb(new) - free) is distinct from (to_jsonb(old) - free) then
    raise exception 'Published schemas are immutable' using errcode = 'check_violation', constraint = 'published_is_immutable';
  end if;
  return new;
end $$;
