-- Ids of all organizations, for background work that visits each of them.
create or replace function all_organizations() returns table (id uuid)
language sql stable security definer set search_path = public, pg_temp as $$ select o.id from organizations o $$;
