-- What waits because tables and indexes can't be changed while a server of the warehouse doesn't respond.
create or replace function tables_pending() returns table (kind text, waiting bigint)
language sql stable security definer set search_path = public, pg_temp as $$
  select 'runs', count(*) from sync_runs r where r.status = 'waiting' and r.error ->> 'code' = 'TABLES_PENDING'
  union all
  select 'publications', count(*) from api_schemas s
  where s.status = 'draft' and s.publication ->> 'status' = 'running' and s.publication #>> '{progress,step}' = 'tables pending'
  union all
  select 'deletions', count(*) from organizations_being_deleted() $$;
