// Work in progress belongs to a process while it renews its lease: requests under an Idempotency-Key, and publications. A write
// records its outcome under the claim of its key, in its own transaction, so that a process that takes over the key finds it.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

alter table idempotency_keys
  add column claim_id uuid constraint idempotency_claim_is_unique unique,
  add column done jsonb;

create function note_write(claim uuid, what jsonb) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update idempotency_keys set done = what where claim_id = claim and status is null;
  return found;
end $$;

alter table api_schemas add column publication_lease_until timestamptz;

create function claim_publications(lease interval) returns table (organization_id uuid, id uuid)
language sql security definer set search_path = public, pg_temp as $$
  update api_schemas s set publication_lease_until = clock_timestamp() + lease
  from (
    select c.id from api_schemas c
    where c.status = 'draft' and c.publication ->> 'status' = 'running'
      and (c.publication_lease_until is null or c.publication_lease_until < clock_timestamp())
    for update skip locked) due
  where s.id = due.id
  returning s.organization_id, s.id $$;

revoke all on function note_write(uuid, jsonb), claim_publications(interval) from public;
grant execute on function note_write(uuid, jsonb), claim_publications(interval) to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
