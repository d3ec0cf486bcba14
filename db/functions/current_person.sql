-- The user of this transaction, from the setting portal.user_id; null when none is set.
create or replace function current_person() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('portal.user_id', true), '')::uuid $$;
