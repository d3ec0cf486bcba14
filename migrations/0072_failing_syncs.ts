// The health of a sync whose runs fail or reject records is called failing. Processes of the version before may still
// write its former name.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table sync_alerts drop constraint alert_state_is_known;
update sync_alerts set state = 'failing' where state = 'unwell';
alter table sync_alerts add constraint alert_state_is_known
  check (state in ('green', 'failing', 'unwell', 'held', 'stale', 'stale-held', 'paused'));
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
