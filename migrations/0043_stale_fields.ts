// Alerts about fields whose stored values may be out of date, alone or together with deletions that are held back.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table sync_alerts drop constraint alert_state_is_known,
  add constraint alert_state_is_known check (state in ('green', 'unwell', 'held', 'stale', 'stale-held', 'paused'));
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
