-- Whether the document's state differs from the one last reported. A document that is being retried is not news.
create or replace function erp_document_is_news(d pay_erp_documents) returns boolean language sql stable as $$
  select case when d.status = 'LANDED' then d.told is not null
    else d.tell_at <= clock_timestamp() and (d.told is null or (d.told <> d.status and d.status <> 'PENDING')) end $$;
