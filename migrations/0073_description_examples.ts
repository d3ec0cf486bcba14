// The description of a version with examples from its records, for those who may read all of them. Versions that were
// published before have none.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table api_schemas add column openapi_with_examples text;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
