// SQL functions have one current definition each, in db/functions, applied at start-up when its release is higher than the one
// stored here. An older process that restarts next to a newer one finds a higher release and leaves the functions alone.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
create table function_release (
  only_row boolean primary key default true check (only_row),
  release integer not null,
  applied_at timestamptz not null default clock_timestamp()
);
insert into function_release (release) values (0);
grant select on function_release to portal_service;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
