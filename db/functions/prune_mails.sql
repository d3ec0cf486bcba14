-- Deletes sent, failed and unknown mails after 90 days, and attachments that no remaining mail needs.
create or replace function prune_mails() returns void language sql security definer set search_path = public, pg_temp as $$
  delete from outgoing_mails where status in ('sent', 'failed', 'unknown') and created_at < now() - interval '90 days';
  delete from mail_attachments a where not exists (select from outgoing_mails m where m.attachment_id = a.id and m.body is not null) $$;
