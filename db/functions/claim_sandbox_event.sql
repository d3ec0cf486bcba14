-- Claims one sandbox webhook event for a delivery attempt. No other process gets it until the lease ends.
create or replace function claim_sandbox_event(lease interval) returns table (organization_id uuid, id text, attempts integer)
language sql security definer set search_path = public, pg_temp as $$
  with chosen as materialized (
    select due.id from sandbox_events due where due.next_attempt_at <= clock_timestamp()
    order by due.next_attempt_at, due.id limit 1 for update skip locked)
  update sandbox_events e
  set attempts = e.attempts + 1, next_attempt_at = clock_timestamp() + lease
  from chosen
  where e.id = chosen.id
  returning e.organization_id, e.id, e.attempts $$;
