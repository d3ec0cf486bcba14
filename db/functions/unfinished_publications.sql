-- Drafts whose publication has not finished. Kept for processes of an earlier version; see claim_publications.
create or replace function unfinished_publications() returns table (organization_id uuid, id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select s.organization_id, s.id from api_schemas s where s.status = 'draft' and s.publication ->> 'status' = 'running' $$;
