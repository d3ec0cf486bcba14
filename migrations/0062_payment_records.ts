// A checkout whose provider keeps the service's record of the payment, from which a lost payment is entered again. The provider accepts
// the request for a checkout again only when it is the same, so earlier ones stay without.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table pay_checkouts add column record_kept boolean not null default false;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
