// The runs of one record type, newest first: a list that may be long, since runs are kept for a year.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create index on sync_runs (organization_id, record_type, queued_at desc, id desc);
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
