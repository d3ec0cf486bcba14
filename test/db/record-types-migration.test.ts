// 0066 moves the record types of erp_metadata to rows of their own, and leaves what the previous version reads and
// writes; 0088 moves what is left of it to the connection.
import { expect, it } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { listHeads, readMetadataStatus, readRecordTypes } from '../../src/sync/account/record-types.store.ts';
import { makeOrganization } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization();

const field = (name: string, reason: string | null = null) => ({
  name,
  label: name,
  type: 'text',
  syncable: reason === null,
  reason,
});
const invoice = { name: 'invoice', label: 'Invoice', table: 'transaction', source: 'probe' };
const readable = { ...invoice, fields: [field('id'), field('x', 'It is gone')] };
const vendor = { name: 'vendor', label: 'Vendor', table: 'vendor', source: 'probe' };
const hidden = { ...vendor, fields: [field('id', 'No permission')] };
const refreshedAt = new Date('2026-03-02T10:00:00Z');

const asBefore0088 = `
  alter table erp_connections drop constraint erp_connections_pkey, drop column name, drop column is_first, drop column listed_at,
    drop column list_error, drop column account, add primary key (organization_id);
  alter table erp_certificates drop constraint erp_certificates_pkey, drop column connection, add primary key (organization_id, slot);
  create unique index one_active_certificate on erp_certificates (organization_id) where active`;

it('moves the record types of an organization, with what a list shows of them', async () => {
  const other = await makeOrganization(site.ctx);
  const ctx = { ...site.ctx, organizationId: site.id };
  await site.admin.raw('drop table erp_record_types');
  await site.admin.raw('alter table erp_metadata drop column account');
  await site.admin.raw(asBefore0088);
  await site.admin('knex_migrations').whereRaw("name ~ '^00(66|88)_'").delete();
  const connected = { organization_id: site.id, kind: 'netsuite', account_id: '1', settings: '{}' };
  await site.admin('erp_connections').insert(connected);
  const former = (organization: string, types: readonly object[]) => ({
    organization_id: organization,
    record_types: JSON.stringify(types),
    refreshed_at: refreshedAt,
  });
  await site.admin('erp_metadata').insert([former(site.id, [readable, hidden]), former(other.id, [])]);
  await migrate(site.database.address);

  const { rows, total } = await listHeads(ctx, null, {}, { page: 1, pageSize: 10 });
  expect(total).toBe(2);
  const ofInvoice = { family: 'transaction', custom: false, syncable: true, reason: null };
  const ofVendor = { family: 'entity', custom: false, syncable: false, reason: 'No permission' };
  expect(rows).toEqual([
    { ...invoice, ...ofInvoice, fieldCount: 2, syncableFieldCount: 1 },
    { ...vendor, ...ofVendor, fieldCount: 1, syncableFieldCount: 0 },
  ]);
  const stored = await readRecordTypes(ctx, ['invoice', 'vendor', 'item']);
  expect([...stored.values()]).toMatchObject(
    [readable, hidden].map((description) => ({ description, describedAt: refreshedAt, isOutdated: false })),
  );
  expect(await readMetadataStatus(ctx, null)).toEqual({ refreshedAt, lastError: null, account: null });

  expect(await site.admin('erp_connections').select('name', 'is_first')).toEqual([
    { name: 'netsuite', is_first: true },
  ]);
  const asBefore = former(site.id, [readable]);
  await inTransaction(ctx, (tx) => tx('erp_metadata').insert(asBefore).onConflict('organization_id').merge());
  expect(await inTransaction(ctx, (tx) => tx('erp_metadata').first('record_types'))).toEqual({
    record_types: [readable],
  });
});
