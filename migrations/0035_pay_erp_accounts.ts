// Of which account of the ERP a payment's customer and invoices are: when an organization moves to another account, a test account's copy
// of the same company say, the same ids are other records.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
-- In capitals, as the connection names it. Null where nobody knows.
alter table pay_payments add column erp_account text check (erp_account <> '');
update pay_payments p set erp_account = upper(replace(coalesce(c.account_id, o.erp_account_id), '-', '_'))
from organizations o left join erp_connections c on c.organization_id = o.id
where o.id = p.organization_id;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
