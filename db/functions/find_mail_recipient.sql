-- Who may sign in with a code mailed to this address: the user, or someone with a pending invitation, whose id is null. Only ASCII letters are
-- compared without case: the first comparison uses the index, the second is the rule. `linked`: the user also signs in with a provider.
create or replace function find_mail_recipient(wanted_email text) returns table (id uuid, email text, name text, linked boolean)
language sql stable security definer set search_path = public, pg_temp as $$
  with person as (
    select u.id, u.email, u.name, exists (select from user_identities i where i.user_id = u.id) as linked
    from users u where lower(u.email) = lower(wanted_email) and lower(u.email collate "C") = lower(wanted_email collate "C"))
  select * from person
  union all (
    select null, i.email, i.email, false from invitations i
    where lower(i.email) = lower(wanted_email) and lower(i.email collate "C") = lower(wanted_email collate "C")
      and i.status = 'pending' and i.expires_at > clock_timestamp() and not exists (select from person)
    limit 1) $$;
