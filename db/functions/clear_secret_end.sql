-- Trigger: a new secret has no end. The former secret keeps the end that it had: a grace period doesn't prolong it.
create or replace function clear_secret_end() returns trigger language plpgsql as $$
begin
  if new.previous_secret_hash is not null then
    new.previous_expires_at := least(new.previous_expires_at, old.secret_ends_at);
  end if;
  new.secret_ends_at := null;
  new.secret_end_reported := false;
  new.transferred_from := null;
  return new;
end $$;
