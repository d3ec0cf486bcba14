-- Whether this address has a pending invitation: sign-in then admits a new user.
create or replace function invited(wanted_email text) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from invitations i
    where lower(i.email) = lower(wanted_email) and i.status = 'pending' and i.expires_at > clock_timestamp()) $$;
