// What a process has in hand belongs to it for as long as it renews its lease: requests under an Idempotency-Key, and publications.
// A write notes under the claim of its key, in its own transaction, what it did: whoever takes the key over knows it.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

alter table idempotency_keys
  add column claim_id uuid constraint idempotency_claim_is_unique unique,
  add column done jsonb;

-- Whether the claim still holds its key. The row stays locked until the write commits, so nobody takes the key over in between.
create function note_write(claim uuid, what jsonb) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update idempotency_keys set done = what where claim_id = claim and status is null;
  return found;
end $$;

alter table api_schemas add column publication_lease_until timestamptz;

-- Drafts whose publication nobody works on any more. A process of an earlier version asks unfinished_publications instead.
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
