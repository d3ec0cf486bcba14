-- Whether a server of warehouse_nodes() accepts connections from this one. Waits for one that doesn't respond as long as Citus does
-- (citus.node_connection_timeout).
create or replace function warehouse_node_responds(host text, port integer) returns boolean language plpgsql as $$
begin
  if host is null then
    return true;
  end if;
  return pg_catalog.citus_check_connection_to_node(host, port);
end $$;
