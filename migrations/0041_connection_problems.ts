// The record types that a failed connection test could not read: only another test can prove that they can be read again, a run that
// signs in does not.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table erp_connections add column unreadable_record_types text[] not null default '{}';
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
