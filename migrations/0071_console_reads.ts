// Indexes for what the console reads: usage of one organization by day, and the audit log by the type of the target.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create index on api_key_usage (organization_id, day);
create index on audit_log (organization_id, target_type, at desc, id desc);
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
