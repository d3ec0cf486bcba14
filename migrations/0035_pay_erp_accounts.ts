// The ERP account that a payment's customer and invoices belong to: after a move to another account (for example a copy of the
// company for tests), the same ids are other records.
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
set local role portal_owner;
-- In upper case, as in the connection. Null where unknown.
alter table pay_payments add column erp_account text check (erp_account <> '');
update pay_payments p set erp_account = upper(replace(coalesce(c.account_id, o.erp_account_id), '-', '_'))
from organizations o left join erp_connections c on c.organization_id = o.id
where o.id = p.organization_id;
reset role`);
}

export async function down(): Promise<void> {
  throw new Error('migrations only go forward');
}
