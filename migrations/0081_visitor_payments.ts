// Who paid, where a visitor of the portal did.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table pay_payments add column visitor jsonb;
comment on column pay_payments.visitor is 'The visitor of the portal who pays: email, address for the receipt, language. Null for a checkout of an API caller.';
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
