// An index of successful runs finds the newest one of a sync directly. Without it, each read of the metrics scanned all runs of a
// sync that had failed for a day.
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
