-- On which of the servers of warehouse_nodes() each organization's schema is. Read from the catalog of this server alone: a node that is
-- down is no obstacle.
create or replace function warehouse_placements() returns table (organization_id uuid, node integer) language plpgsql stable as $$
begin
  if to_regclass('pg_catalog.pg_dist_schema') is null then
    return query select substr(n.nspname, 4)::uuid, 0 from pg_catalog.pg_namespace n where n.nspname ~ '^wh_[0-9a-f]{32}$';
  else
    return query select substr(n.nspname, 4)::uuid, p.nodeid
      from pg_catalog.pg_dist_schema s
        join pg_catalog.pg_namespace n on n.oid = s.schemaid
        cross join lateral (
          select d.nodeid from pg_catalog.pg_dist_partition t
            join pg_catalog.pg_dist_shard h on h.logicalrelid = t.logicalrelid
            join pg_catalog.pg_dist_placement l on l.shardid = h.shardid
            join pg_catalog.pg_dist_node d on d.groupid = l.groupid and d.noderole = 'primary'
          where t.colocationid = s.colocationid limit 1) p
      where n.nspname ~ '^wh_[0-9a-f]{32}$';
  end if;
end $$;
