-- The owner who has been longest in this organization, or in the oldest one.
create or replace function find_first_owner(wanted_organization uuid) returns table (id uuid, email text, name text)
language sql stable security definer set search_path = public, pg_temp as $$
  select u.id, u.email, u.name
  from organizations o join roles r on r.organization_id = o.id and r.built_in and r.name = 'owner'
  join memberships m on m.organization_id = o.id and m.role_id = r.id join users u on u.id = m.user_id
  where o.deleting_since is null and (wanted_organization is null or o.id = wanted_organization)
  order by o.created_at, o.id, m.joined_at, u.id limit 1 $$;
