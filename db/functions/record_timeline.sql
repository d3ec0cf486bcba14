-- The server that evaluates it and its timeline, which a promotion or a restore to a point in time changes: from then on the server may lack
-- commits of the timeline before. On Citus with the number of the node's group, because nodes may be copies of one server: a query over the
-- tables of an organization evaluates it on the node that has them. Fails on a standby.
create or replace function record_timeline() returns text language plpgsql as $$
declare
  node text;
begin
  if to_regclass('pg_catalog.pg_dist_local_group') is not null then
    execute 'select groupid from pg_catalog.pg_dist_local_group' into node;
  end if;
  return concat_ws('/', (select system_identifier from pg_control_system()), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), node);
end $$;
