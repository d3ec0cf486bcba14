-- Finds the user linked to this issuer and subject.
create or replace function find_identity(wanted_issuer text, wanted_subject text) returns table (id uuid, email text, name text)
language sql stable security definer set search_path = public, pg_temp as $$
  select u.id, u.email, u.name from user_identities i join users u on u.id = i.user_id
  where i.issuer = wanted_issuer and i.subject = wanted_subject $$;
