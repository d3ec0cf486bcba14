-- Total size in bytes of the tables, indexes and TOAST data of one schema.
create or replace function schema_bytes(schema_name text) returns bigint language sql stable as $$
  select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = schema_name and c.relkind = 'r' $$;
