// An organization may have several accounts at one provider: after a change of account, open payments are still followed at the
// former one.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
alter table pay_accounts drop constraint one_pay_account_per_provider;
-- Finds a payment that shows whether new credentials belong to the same account.
create index on pay_payments (account_id, created_at desc) where session_id is not null;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
