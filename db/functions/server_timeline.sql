-- The timeline of this server, as eight hexadecimal digits. The name of the current log file shows a new one at once after a promotion;
-- pg_control_checkpoint() shows it only after the next checkpoint. Fails on a standby.
create or replace function server_timeline() returns text language sql as $$
  select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) $$;
