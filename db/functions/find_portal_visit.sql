-- Finds what each request of a visitor needs, in one statement: the valid session of one of these tokens in the organization and on the
-- host, the portal's settings that are ready (null while it is off), what is known of the address beside the ERP, and what the company
-- configured for its pages. No row without a session, and none for several: then none can be trusted. A member's session ends with the
-- membership, and a blocked address has none. Counts the request in the minute of the visitor, or of the member who looks at the portal as one: countHits in
-- src/db/rate-limits.ts.
create or replace function find_portal_visit(in_organization uuid, on_host text, token_hashes bytea[], idle_days int) returns table (
  session jsonb, settings jsonb, document text, entry jsonb, mappings jsonb, pages jsonb, sidebar jsonb, branding jsonb)
language sql security definer set search_path = public, pg_temp as $$
  with found as (
    select s.* from portal_sessions s
    where s.organization_id = in_organization and s.host = on_host and s.token_hash = any (token_hashes)
      and s.ends_at > clock_timestamp() and s.last_seen_at > clock_timestamp() - make_interval(days => idle_days)
      and not exists (
        select from portal_visitors v where v.organization_id = s.organization_id and v.email = s.email and v.blocked)
      and (s.viewer_id is null or exists (
        select from memberships m where m.organization_id = s.organization_id and m.user_id = s.viewer_id))
  ), counted as (
    insert into rate_limits as r (key, hits, resets_at)
    select format('visitor:%s:%s', in_organization, coalesce(f.viewer_id::text, f.email)), 1, clock_timestamp() + interval '1 minute'
    from found f where (select count(*) from found) = 1
    on conflict (key) do update set
      hits = case when r.resets_at <= clock_timestamp() then 1 else r.hits + 1 end,
      resets_at = case when r.resets_at <= clock_timestamp() then excluded.resets_at else r.resets_at end
    returning r.hits, r.resets_at
  )
  select
    jsonb_build_object('id', f.id, 'email', f.email, 'customer', f.customer, 'viewer_id', f.viewer_id,
      'previous_visit_at', f.previous_visit_at, 'ends_at', f.ends_at,
      'is_fresh', f.last_seen_at > clock_timestamp() - interval '1 minute',
      'hits', c.hits, 'seconds_left', extract(epoch from c.resets_at - clock_timestamp())),
    live.settings, live.document,
    (select jsonb_build_object('email', v.email, 'customers', to_jsonb(v.customers), 'blocked', v.blocked)
      from portal_visitors v where v.organization_id = in_organization and v.email = f.email),
    coalesce((select jsonb_object_agg(m.record_type, m.fields) from portal_field_mappings m where m.organization_id = in_organization), '{}'),
    coalesce((select jsonb_agg(jsonb_build_object('id', p.id, 'slug', p.published_slug, 'title', p.published_title) order by p.created_at, p.id)
      from portal_pages p where p.organization_id = in_organization and p.published_at is not null), '[]'),
    coalesce((select b.items from portal_sidebars b where b.organization_id = in_organization), '[]'),
    (select jsonb_build_object('settings', w.settings, 'revision', w.revision, 'logo_type', w.logo_type)
      from portal_branding w where w.organization_id = in_organization)
  from found f cross join counted c
  left join lateral (
    select a.settings, a.document from portal_access a
    where a.organization_id = in_organization
      and exists (select from api_schemas s where s.organization_id = a.organization_id and s.version = a.document and s.status = 'published')
      and (select n.document from portal_access n where n.organization_id = in_organization order by n.revision desc limit 1) is not null
    order by a.revision desc limit 1
  ) live on true
  where (select count(*) from found) = 1 $$;
