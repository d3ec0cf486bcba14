// What a view shows of its records in groups; null for views that list records only.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table views add column summary jsonb;
comment on column views.summary is 'Groups and aggregates of the records; null: the view lists records only.';
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
