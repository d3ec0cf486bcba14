-- The organization of this transaction, from the setting portal.organization_id; null outside one. Row-level security compares with it.
create or replace function current_organization() returns uuid language sql stable parallel safe
  as $$ select nullif(current_setting('portal.organization_id', true), '')::uuid $$;
