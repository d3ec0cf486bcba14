-- The servers that can hold the organizations' records: the primary nodes of a Citus cluster. Plain PostgreSQL has one row without an address.
create or replace function warehouse_nodes() returns table (id integer, host text, port integer, takes_records boolean, is_active boolean)
language plpgsql stable as $$
begin
  if to_regclass('pg_catalog.pg_dist_node') is null then
    return query select 0, null::text, null::integer, true, true;
  else
    return query select n.nodeid, n.nodename, n.nodeport, n.shouldhaveshards, n.isactive
      from pg_catalog.pg_dist_node n where n.noderole = 'primary' order by n.groupid;
  end if;
end $$;
