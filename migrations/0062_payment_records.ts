// A checkout whose provider keeps the service's record of the payment, from which a lost payment is entered again. The provider accepts
// the request for a checkout again only when it is the same, so earlier ones stay without. After a failover or a restore, an account is
// incomplete until all that changed at its provider was entered again.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table pay_checkouts add column record_kept boolean not null default false;
alter table pay_accounts add column incomplete_since timestamptz;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
