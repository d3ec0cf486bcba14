-- Finds the portal that a hostname or an organization's slug names (the other argument is null), while it is on. By hostname only the
-- verified primary domain finds it; by slug, hostname is that domain or null. document: the label in api_schemas of the newest
-- settings that are ready. As findAccess in src/platform/portal/access.store.ts, settings without a document switch the portal off.
create or replace function find_portal(by_hostname text, by_slug text) returns table (
  organization_id uuid, slug text, name text, hostname text, document text)
language sql stable security definer set search_path = public, pg_temp as $$
  select o.id, o.slug, o.name, d.hostname, live.document
  from organizations o
  left join domains d on d.organization_id = o.id and d.is_primary and d.status = 'verified'
  cross join lateral (
    select a.document from portal_access a where a.organization_id = o.id order by a.revision desc limit 1
  ) newest
  cross join lateral (
    select a.document, a.settings from portal_access a
    where a.organization_id = o.id
      and exists (select from api_schemas s where s.organization_id = a.organization_id and s.version = a.document and s.status = 'published')
    order by a.revision desc limit 1
  ) live
  where o.id = case when by_hostname is null then (select b.id from organizations b where b.slug = by_slug)
      else (select v.organization_id from domains v where v.hostname = by_hostname and v.status = 'verified' and v.is_primary) end
    and o.deleting_since is null and newest.document is not null and (live.settings->>'enabled')::boolean $$;
