// An organization may come to have several accounts at one provider: when it moves to another of them, what is open at the one before is
// still asked for there.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table pay_accounts drop constraint one_pay_account_per_provider;
-- By it a payment is found that tells whether credentials are of the same account.
create index on pay_payments (account_id, created_at desc) where session_id is not null;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
