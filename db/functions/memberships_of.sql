-- The memberships of one user with role and permissions, to choose the organization of a request.
create or replace function memberships_of(wanted uuid) returns table (
  organization_id uuid, organization_slug text, organization_name text, role_id uuid, role_name text, role_built_in boolean, role_permissions text[])
language sql stable security definer set search_path = public, pg_temp as $$
  select o.id, o.slug, o.name, r.id, r.name, r.built_in, r.permissions
  from memberships m join organizations o on o.id = m.organization_id join roles r on r.id = m.role_id
  where m.user_id = wanted order by o.created_at, o.id $$;
