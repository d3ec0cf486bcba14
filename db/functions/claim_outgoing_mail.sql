-- For processes of the version before: see adopt_older_work. A mail whose message text was being
-- sent may have arrived.
create or replace function claim_outgoing_mail(new_lease uuid, lease_for interval) returns table (organization_id uuid, id uuid)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare job record;
begin
  select * into job from take_older_job('mails');
  update outgoing_mails m set status = 'unknown', body = null, last_error = 'The process that sent it ended before the server answered'
  where m.id = job.key::uuid and m.status = 'sending' and m.data_begun_at is not null;
  return query update outgoing_mails m
    set status = 'sending', attempts = m.attempts + 1, lease_id = new_lease, lease_until = clock_timestamp() + lease_for
    where m.id = job.key::uuid and m.status in ('queued', 'sending') returning m.organization_id, m.id;
end $$;
