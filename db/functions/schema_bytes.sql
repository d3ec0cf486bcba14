-- Total size in bytes of the tables, indexes and TOAST data of one schema. On Citus the tables here may be empty shells of those on a node:
-- their size is asked for there, and the result is null while that node doesn't respond.
create or replace function schema_bytes(schema_name text) returns bigint language plpgsql stable as $$
declare
  size text := 'pg_total_relation_size(c.oid)';
  bytes bigint;
begin
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    size := 'case when exists (select from pg_catalog.pg_dist_partition p where p.logicalrelid = c.oid)
      then citus_total_relation_size(c.oid, false) else pg_total_relation_size(c.oid) end';
  end if;
  execute format('select case when count(bytes) = count(*) then coalesce(sum(bytes), 0)::bigint end from (
    select %s as bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relkind = ''r'') tables', size) into bytes using schema_name;
  return bytes;
end $$;
