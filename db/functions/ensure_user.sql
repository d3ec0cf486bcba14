-- Returns the id of the user with this e-mail address, creating the user if needed. For operators and invitations.
create or replace function ensure_user(new_id uuid, wanted_email text, wanted_name text) returns uuid
language plpgsql security definer set search_path = public, pg_temp as $$
declare found_id uuid;
begin
  insert into users (id, email, name) values (new_id, wanted_email, wanted_name) on conflict ((lower(email))) do nothing;
  select u.id into found_id from users u where lower(u.email) = lower(wanted_email);
  return found_id;
end $$;
