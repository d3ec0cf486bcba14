-- Claims up to `most` agents whose check is due or whose worker died. Each is leased to one caller.
create or replace function claim_agent_checks(most integer, lease interval) returns table (organization_id uuid, id uuid, epoch integer)
language sql security definer set search_path = public, pg_temp as $$
  with chosen as materialized (
    select due.id from agents due
    where due.status in ('provisioning', 'restarting') and (due.lease_until is null or due.lease_until < clock_timestamp())
    order by due.updated_at, due.id limit most for update skip locked)
  update agents a
  set lease_until = clock_timestamp() + lease
  from chosen
  where a.id = chosen.id
  returning a.organization_id, a.id, a.epoch $$;
