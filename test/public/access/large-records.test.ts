// Records too large for one text take other statements: these obey the row scope and the masks as well.
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { callerOf, type InvoiceRow, idsOf, loadInvoices, publicApp, publishVersion } from '../fixture.ts';
import { rowsOf, scopedInvoices } from './fixture.ts';

/** More than `maxTextBytes` in one record. */
const huge = (customer: string): string => `${customer} `.repeat(120_000);
const rows: InvoiceRow[] = Array.from({ length: 8 }, (_, index) => {
  const entity = index % 2 === 0 ? 'acme' : 'birch';
  return {
    id: index + 1,
    entity,
    tranid: index < 4 ? huge(entity) : entity,
    entityName: huge(entity),
    trandate: `2026-01-0${index + 1}`,
  };
});

let database: TestDatabase;
let organizationId: string;
let get: ReturnType<typeof callerOf>;
beforeAll(async () => {
  database = await testDatabase();
  organizationId = (await makeOrganization(database.ctx)).id;
  await loadInvoices(database.ctx, organizationId, rows);
  const masked = scopedInvoices.fields.map((field) =>
    field.name === 'customerName' ? { ...field, mask: 'last4' } : field,
  );
  await publishVersion(database.ctx, organizationId, { endpoints: [{ ...scopedInvoices, fields: masked }] });
  const { secret } = await makeKey(database.ctx, organizationId, { rows: rowsOf(['acme']) });
  get = callerOf(publicApp(database.ctx), { secret, organizationId });
});
afterAll(() => database.close());

describe('large records', () => {
  it('are read within the scope, and 404 outside', async () => {
    const { data } = (await get('/v1/invoices/1').expect(200)).body;
    expect([data.number.length, data.customerName]).toEqual([huge('acme').length, '****cme ']);
    for (const path of ['/v1/invoices/2', '/v1/invoices/2?fields=number', '/v1/invoices/99'])
      await get(path).expect(404);
  });

  it('are listed and exported within the scope, compressed or not', async () => {
    for (const query of ['', '?pageSize=3', '?sort=number', '?fields=number,customer']) {
      const answer = await get(`/v1/invoices${query}`).expect(200);
      expect(answer.body.pagination.total).toBe(4);
      expect(answer.text).not.toContain('birch');
    }
    expect(idsOf(await get('/v1/invoices'))).toEqual(['7', '5', '3', '1']);
    const bytes = await get('/v1/invoices', { 'accept-encoding': 'identity' }).buffer(true).expect(200);
    const zipped = await get('/v1/invoices', { 'accept-encoding': 'gzip' })
      .buffer(true)
      .parse((res, done) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(Buffer.from(chunk)));
        res.on('end', () => done(null, Buffer.concat(chunks)));
      });
    const whole = zipped.body as Buffer;
    expect((whole[0] === 0x1f ? gunzipSync(whole) : whole).toString()).toBe(bytes.text);
    const csv = await get('/v1/invoices', { accept: 'text/csv' }).buffer(true).expect(200);
    expect([csv.headers['x-total-count'], csv.text.includes('birch')]).toEqual(['4', false]);
  });
});
