-- Links a subject that signs in for the first time to the existing user with the same verified e-mail address, unless that user
-- already has a link for this issuer. Returns the user, or nothing.
create or replace function link_identity(wanted_issuer text, wanted_subject text, verified_email text) returns table (id uuid, email text, name text)
language sql security definer set search_path = public, pg_temp as $$
  with person as (
    select u.id, u.email, u.name from users u where lower(u.email) = lower(verified_email)
    and not exists (select from user_identities i where i.user_id = u.id and i.issuer = wanted_issuer)
  ), linked as (
    insert into user_identities (issuer, subject, user_id) select wanted_issuer, wanted_subject, person.id from person
    on conflict do nothing returning user_id
  )
  select person.id, person.email, person.name from person join linked on linked.user_id = person.id $$;
