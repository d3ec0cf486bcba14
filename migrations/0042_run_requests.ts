// How many requests each run sent to the ERP, and how many of them belong to the rolling full read, which has a daily budget.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table sync_runs add column requests integer, add column rolling_requests integer;
-- Unknown for the runs of older versions.
alter table sync_runs alter column requests set default 0, alter column rolling_requests set default 0;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
