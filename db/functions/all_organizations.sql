-- Ids of all organizations, for background work on the records of each of them; without those whose records are on the former server of
-- a move.
create or replace function all_organizations() returns table (id uuid)
language sql stable security definer set search_path = public, pg_temp as $$ select o.id from organizations o where o.warehouse = 'current' $$;
