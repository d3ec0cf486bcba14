-- Whether the database failed over or was restored since the service first used it. The ERP may then have documents that are not known here.
create or replace function commits_may_be_lost() returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (select from server_timelines t where t.survived_at is not null or t.restored) $$;
