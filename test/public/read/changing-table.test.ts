// Reads that meet a publish, a table swap, a changed table or a broken connection.
import { beforeEach, describe, expect, it } from 'vitest';
import { testClock } from '../../setup/database.ts';
import { useDatabase } from '../../setup/use-database.ts';
import {
  bumpGeneration,
  type Get,
  type InvoiceRow,
  listIds,
  loadInvoices,
  openOrganization,
  publicApp,
} from '../fixture.ts';

const clock = testClock();
const database = useDatabase({ clock });
let organization: Awaited<ReturnType<typeof openOrganization>>;
let get: Get;

beforeEach(async () => {
  const rows = Array.from({ length: 60 }, (_, index) => ({
    id: index + 1,
    status: index % 3 === 0 ? 'open' : 'paid',
  }));
  organization = await openOrganization(database.ctx, publicApp(database.ctx), { rows });
  ({ get } = organization);
});
const sql = (text: string) => organization.sql(text);
const reload = (rows: readonly InvoiceRow[]) => loadInvoices(database.ctx, organization.organizationId, rows);

describe('reads while the table changes', () => {
  it('follow a table swap, whether the old table still exists or is dropped', async () => {
    await get('/v1/invoices?status=open').expect(200);
    await reload([{ id: 5, status: 'open' }]);
    const other = '/v1/invoices?status=open&pageSize=24';
    expect((await get(other).expect(200)).body).toMatchObject({
      data: [{ id: '5' }],
      pagination: { total: 1 },
    });
    const second = await reload([{ id: 6 }]);
    await get('/v1/invoices/6').expect(200);
    await reload([{ id: 7 }]);
    await sql(`drop table $wh.${second}`);
    expect(listIds(await get('/v1/invoices').expect(200))).toEqual(['7']);
    await get('/v1/invoices/6').expect(404);
  });

  it('are planned again when columns are added or changed by DDL, never a 500', async () => {
    const ask = () => Promise.all(Array.from({ length: 4 }, () => get('/v1/invoices/1').expect(200)));
    await ask();
    await ask();
    for (const type of ['varchar', 'text']) {
      await sql(`alter table $wh.record_state alter column epoch type ${type}`);
      for (const { body } of await ask()) expect(body.data.id).toBe('1');
    }
    await sql(`alter table $t add column f_new text, alter column f_status type varchar collate "C"`);
    await ask();
  });

  it('replace broken connections', async () => {
    await get('/v1/invoices').expect(200);
    const { rowCount } = await database.admin.raw<{ rowCount: number }>(
      // Until each is closed: a retry after a broken connection could meet another one that is about to
      // break.
      "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = current_database() and query like '%row_to_json%' and pid <> pg_backend_pid()",
    );
    expect(rowCount).toBeGreaterThan(0);
    await Promise.all(Array.from({ length: 6 }, () => get('/v1/invoices').expect(200)));
  });

  it('get 503 with Retry-After while nothing is published, never a total of 0', async () => {
    await sql(`update $wh.record_state set generation = 0, active_table = null, epoch = null`);
    for (const path of ['/v1/invoices', '/v1/invoices?status=open', '/v1/invoices/1']) {
      const response = await get(path).expect(503);
      expect(response.headers['retry-after']).toBe('30');
      expect(response.body.error).toMatchObject({
        code: 'INTERNAL_ERROR',
        details: [{ code: 'unavailable' }],
      });
    }
    await get('/v1/invoices?bogus=1').expect(400);
    await sql(`drop schema $wh cascade`);
    clock.advance(1_000);
    await get('/v1/invoices').expect(503);
    await get('/v1/invoices', { 'if-none-match': '*' }).expect(503);
    await get('/openapi/v1').expect(200);
  });

  it('get 503 when a published column is missing', async () => {
    await sql(`alter table $t drop column f_total`);
    for (const accept of ['application/json', 'application/x-ndjson', 'text/csv']) {
      const { body } = await get('/v1/invoices', { accept }).expect(503);
      expect(body.error.message).toBe('The data is being replaced; try again');
    }
    expect(listIds(await get('/v1/invoices?fields=number&pageSize=1').expect(200))).toEqual(['1']);
  });

  it('are consistent in page, total and generation during publishes', async () => {
    let writing = true;
    const write = async () => {
      const client = await database.ctx.db.data.connect();
      const { schema, table } = organization;
      const place = `${schema}.${table}`;
      for (let round = 1; writing; round += 1) {
        await client.query(`begin; delete from ${place}; insert into ${place} (id, generation, content_hash, changed_at, f_status, f_seq)
          select i, 1, '\\x00', '2026-03-01', 'open', (select generation + 1 from ${schema}.record_state) from generate_series(1, ${1 + (round % 50)}) i;
          update ${schema}.record_state set generation = generation + 1, row_count = ${1 + (round % 50)}; commit`);
      }
      client.release();
    };
    const read = async () => {
      for (let round = 0; round < 40; round += 1) {
        const { body, headers } = await get(
          round % 2 === 0 ? '/v1/invoices?status=open&pageSize=100' : '/v1/invoices?pageSize=100',
        ).expect(200);
        expect(body.data.length).toBe(body.pagination.total);
        for (const record of body.data) expect(String(record.seq)).toBe(headers['x-data-generation']);
        clock.advance(100);
      }
    };
    await bumpGeneration(database.ctx, organization.organizationId, 60);
    await sql(`update $t set f_seq = 2, f_status = 'open'`);
    const writer = write();
    await Promise.all([read(), read(), read()]);
    writing = false;
    await writer;
  });
});
