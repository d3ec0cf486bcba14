// Which records of its type a sync configuration reads, such as those of some subsidiaries; null for all.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table sync_configs add column filter jsonb;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
