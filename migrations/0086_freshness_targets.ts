// How old the data of a sync may become, and whether its recipients know that they are older.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table sync_configs add column freshness_target integer constraint freshness_target_is_minutes check (freshness_target between 1 and 43200);
comment on column sync_configs.freshness_target is 'Minutes that the data may be old; null for any age.';
alter table sync_alerts add column stale_since timestamptz;
comment on column sync_alerts.stale_since is 'When it was found that the data are older than the freshness target; null while they are not. The change and the mail are one transaction.';
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
