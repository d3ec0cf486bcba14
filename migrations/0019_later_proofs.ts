// What trying a version's reads has shown may be shown anew: over how many records, and the summary beside that of the publication.
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
