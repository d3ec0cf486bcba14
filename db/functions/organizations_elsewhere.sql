-- Organizations whose records are on the former server of a move: `former` until they are copied, `moving` meanwhile.
create or replace function organizations_elsewhere() returns table (id uuid, warehouse text)
language sql stable security definer set search_path = public, pg_temp as $$
  select o.id, o.warehouse from organizations o where o.warehouse <> 'current' $$;
