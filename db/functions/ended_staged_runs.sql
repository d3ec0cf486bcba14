-- Runs that ended (for example by a cancellation) and still have staged rows to clear; at most 100.
create or replace function ended_staged_runs() returns table (organization_id uuid, run_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
  select r.organization_id, r.id from sync_runs r
  where r.staged and r.status in ('succeeded', 'partial', 'failed', 'cancelled')
    and not exists (select from organizations o where o.id = r.organization_id and o.warehouse <> 'current') order by r.queued_at limit 100 $$;
