// The newest run that brought a sync up to date is found by an index of those alone: a sync that has failed for a day had all its runs
// looked through each time an operator's figures were asked for.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create index kept_runs on sync_runs (sync_config_id, queued_at desc, id desc) where status in ('succeeded', 'partial');
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
