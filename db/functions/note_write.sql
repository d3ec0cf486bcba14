-- Records the outcome of a write under its idempotency claim; false when the claim no longer holds the key. The row stays locked until
-- the write commits, so no other request can take over the key in between.
create or replace function note_write(claim uuid, what jsonb) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update idempotency_keys set done = what where claim_id = claim and status is null;
  return found;
end $$;
