-- Organizations with an unreported change of a write-back document that have received no report for the given time.
create or replace function organizations_with_erp_news(quiet interval) returns table (organization_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select distinct d.organization_id from pay_erp_documents d
  where (d.tell_at is not null or d.told is not null) and erp_document_is_news(d)
    and not exists (
      select from pay_erp_documents t where t.organization_id = d.organization_id and t.told_at > clock_timestamp() - quiet)
  order by d.organization_id $$;
