-- Claims all publications that no living process works on, except those of organizations whose records are on the former server of a move.
-- Processes of an earlier version call unfinished_publications instead.
create or replace function claim_publications(lease interval) returns table (organization_id uuid, id uuid)
language sql security definer set search_path = public, pg_temp as $$
  update api_schemas s set publication_lease_until = clock_timestamp() + lease
  from (
    select c.id from api_schemas c
    where c.status = 'draft' and c.publication ->> 'status' = 'running'
      and (c.publication_lease_until is null or c.publication_lease_until < clock_timestamp())
      and not exists (select from organizations o where o.id = c.organization_id and o.warehouse <> 'current')
    for update skip locked) due
  where s.id = due.id
  returning s.organization_id, s.id $$;
