-- The organizations that one user belongs to.
create or replace function organizations_of(wanted uuid) returns table (id uuid, slug text, name text, created_at timestamptz)
language sql stable security definer set search_path = public, pg_temp as $$
  select o.id, o.slug, o.name, o.created_at from memberships m join organizations o on o.id = m.organization_id where m.user_id = wanted $$;
