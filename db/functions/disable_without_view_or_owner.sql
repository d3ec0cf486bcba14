-- Trigger: disables a subscription that has lost its view or its owner and records the reason, so that it never sends records
-- that no one may see on its behalf.
create or replace function disable_without_view_or_owner() returns trigger language plpgsql as $$
begin
  if new.enabled and (new.view_id is null or new.owner_id is null) then
    new.enabled := false;
    new.disabled_reason := case when new.view_id is null then 'view_deleted' else 'owner_left' end;
  end if;
  return new;
end $$;
