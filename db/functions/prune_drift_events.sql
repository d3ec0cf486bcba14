-- Deletes drift events after one year.
create or replace function prune_drift_events() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from drift_events where at < now() - interval '1 year' $$;
