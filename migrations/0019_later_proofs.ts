// A version's reads may be proved again after its publication: the number of records, and a summary next to the first one.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;

alter table publication_reports add column records jsonb not null default '[]', add column proof jsonb;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
