-- Deletes the usage of API keys and of visitors after 13 months.
create or replace function prune_api_key_usage() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from api_key_usage where day < (now() at time zone 'UTC')::date - interval '13 months';
  delete from portal_usage where day < (now() at time zone 'UTC')::date - interval '13 months' $$;
