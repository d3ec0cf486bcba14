// The records of views, as pages and as CSV.
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import readXlsxFile from 'read-excel-file/node';
import supertest from 'supertest';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadInvoices } from '../../public/fixture.ts';
import { base, listIds, listProblems, pluck, refusal } from '../../setup/api.ts';
import { asBuffer } from '../../setup/raw-body.ts';
import { until } from '../../setup/until.ts';
import { useViews } from './fixture.ts';

const { org, settle, warehouse, body, make, readRecords, readCsv } = useViews();

describe('GET /views/{id}/records', () => {
  beforeEach(settle);
  const columns = ['tranid', 'total', 'seq', 'entity.name', 'paid', 'lastmodified', 'lines'];

  it('returns pages with exact values', async () => {
    const sort = [
      { field: 'total', direction: 'asc' },
      { field: 'tranid', direction: 'desc' },
    ];
    const id = await make(org.api, { columns, sort });
    const answer = await readRecords(org.api, id, '?pageSize=3');
    expect(listIds(answer)).toEqual(['1', '4', '3']);
    expect(answer.text).toContain(
      '{"id":"1","tranid":"INV-1","total":-15.30,"seq":"9007199254740993","entity.name":"=HYPERLINK(\\"x\\")","paid":null',
    );
    expect(answer.text).toContain(
      '"lines":[{"item":"1","item.name":null,"quantity":2.50,"secretcost":null}]',
    );
    expect(answer.body).toMatchObject({
      pagination: { total: 4, page: 1, pageSize: 3, totalPages: 2 },
      problems: [],
      syncedAt: '2026-03-01T08:00:00Z',
    });
    expect(answer.body.columns.slice(0, 2)).toEqual([
      { source: 'tranid', type: 'text' },
      { source: 'total', type: 'number' },
    ]);
    const next = await readRecords(org.api, id, '?pageSize=3&page=2');
    expect(next.text).toContain('"total":12345678901234567890.10');
  });

  it('reports removed fields, and returns no records when a filter does not work', async () => {
    const sort = [{ field: 'status', direction: 'asc' }];
    const id = await make(org.api, { columns: ['tranid', 'status'], sort });
    const filtered = await make(org.api, { filters: [{ field: 'status', operator: 'eq', value: 'open' }] });
    await warehouse("update $wh.record_columns set state = 'vanished' where field = 'status'");
    const answer = await readRecords(org.api, id);
    expect(listProblems(answer)).toEqual(['columns[1] vanished', 'sort[0].field vanished']);
    expect(pluck(answer.body.data, 'status')).toEqual([null, null, null, null]);
    const csv = await readCsv(org.api, id);
    const problems = 'columns[1] vanished, sort[0].field vanished';
    expect([csv.status, csv.headers['x-view-problems']]).toEqual([200, problems]);
    expect(csv.text.split('\r\n')[1]).toBe('1,INV-1,');
    const unusable = ['filters[0].field vanished'];
    const nothing = await readRecords(org.api, filtered);
    expect([nothing.status, nothing.body.data, listProblems(nothing)]).toEqual([200, [], unusable]);
    const refused = await readCsv(org.api, filtered);
    expect([refused.status, listProblems(refused)]).toEqual([422, unusable]);
    // A view with such a column can still be updated.
    expect((await org.api('patch', `/views/${id}`, { columns: ['status', 'total'] })).status).toBe(200);
    // The whole record type has been removed.
    await warehouse('delete from $wh.record_state');
    const gone = await readRecords(org.api, id);
    expect([gone.status, gone.body.data, gone.body.syncedAt]).toEqual([200, [], null]);
    expect(listProblems(gone)).toEqual(['recordType unknown_record_type']);
    expect((await readCsv(org.api, id)).status).toBe(422);
  });

  it('503 while no sync has been published', async () => {
    const id = await make(org.api);
    await warehouse('update $wh.record_state set generation = 0');
    for (const answer of [await readRecords(org.api, id), await readCsv(org.api, id)])
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '30']);
  });

  it('never mixes up organizations, views or revisions of a view', async () => {
    const [a, b] = [await make(org.api), await make(org.api, { columns: ['total', 'tranid'] })];
    const other = await org.another();
    await loadInvoices(org.ctx, other.id, [{ id: 1, tranid: 'theirs' }]);
    const c = (await other.owner.api('post', '/views', body())).body.id;
    for (let round = 0; round < 3; round += 1) {
      expect(Object.keys((await readRecords(org.api, a)).body.data[0])).toEqual(['id', 'tranid', 'total']);
      expect(Object.keys((await readRecords(org.api, b)).body.data[0])).toEqual(['id', 'total', 'tranid']);
      expect((await readRecords(other.owner.api, c)).body.data).toEqual([
        { id: '1', tranid: 'theirs', total: null },
      ]);
    }
    await org.api('patch', `/views/${a}`, { columns: ['status'] });
    expect((await readRecords(org.api, a)).body.data[0]).toEqual({ id: '1', status: 'open' });
    expect((await readRecords(other.owner.api, a)).status).toBe(404);
  });
});

describe('GET /views/{id}/records as CSV', () => {
  beforeAll(settle);
  it('is what a browser saves that opens the address; a page of it, and what a program gets, is JSON', async () => {
    const id = await make(org.api);
    const session = await org.session(org.owner.id);
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const opened = (query: string, headers: Record<string, string> = browser, api = session) =>
      api('get', `/views/${id}/records${query}`, undefined, headers);
    expect((await opened('')).type).toBe('text/csv');
    for (const answer of [await opened('?page=1'), await opened('', {}), await opened('', browser, org.api)])
      expect([answer.status, answer.type]).toEqual([200, 'application/json']);
  });

  it('contains all records, with formulas escaped and numbers unchanged', async () => {
    const id = await make(org.api, {
      name: 'Open: "a/b"\u00e9',
      columns: ['tranid', 'total', 'entity.name', 'lastmodified'],
      sort: [{ field: 'tranid', direction: 'asc' }],
    });
    const answer = await readCsv(org.api, id);
    expect(answer.text).toBe(
      `\ufeffid,tranid,total,entity.name,lastmodified\r\n3,"",7,,\r\n2,'-15.30,12345678901234567890.10,"Ann, ""the"" boss\nBob",\r\n1,INV-1,-15.30,"'=HYPERLINK(""x"")",\r\n4,,-15.30,,2026-01-31T10:00:00Z\r\n`,
    );
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': `attachment; filename="Open- -a-b-?.csv"; filename*=UTF-8''Open-%20-a-b-%C3%A9.csv`,
      'cache-control': 'no-store',
      'x-total-count': '4',
      'x-data-synced-at': '2026-03-01T08:00:00Z',
    });
    expect(answer.headers['vary']).toContain('Accept');
    const pages = ['?pageSize=2', '?pageSize=2&page=2'].map((query) => readRecords(org.api, id, query));
    expect((await Promise.all(pages)).flatMap(listIds)).toEqual(['3', '2', '1', '4']);
  });

  it('is a workbook for those who ask for one', async () => {
    const id = await make(org.api, { name: 'Open', columns: ['tranid', 'total', 'lastmodified'] });
    const read = (view: string) =>
      supertest(org.app)
        .get(`${base}/views/${view}/records`)
        .set({
          authorization: `Bearer ${org.owner.secret}`,
          accept: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
        })
        .buffer(true)
        .parse(asBuffer);
    const answer = await read(id).expect(200);
    expect(answer.headers['content-disposition']).toBe('attachment; filename=Open.xlsx');
    const [sheet] = await readXlsxFile(answer.body as Buffer, { trim: false });
    expect(sheet?.data[0]).toEqual(['id', 'tranid', 'total', 'lastmodified']);
    expect(sheet?.data.slice(1)).toEqual(
      expect.arrayContaining([
        ['2', '-15.30', '12345678901234567890.10', null],
        ['4', null, -15.3, new Date('2026-01-31T10:00:00Z')],
      ]),
    );
  });

  it('has no pages and no other media types', async () => {
    const id = await make(org.api);
    const paged = readCsv(org.api, id, '?page=1&pageSize=10');
    expect(await refusal(paged)).toEqual([400, 'not_paged', 'not_paged']);
    const as = (accept: string, end = '') => org.api('get', `/views/${id}${end}`, undefined, { accept });
    expect((await as('image/png', '/records')).status).toBe(406);
    expect((await as('text/csv')).headers['content-type']).toContain('json');
  });

  describe('of many records', () => {
    let server: Server;
    beforeAll(async () => {
      server = createServer(org.app);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });
    afterAll(() => new Promise((resolve) => server.close(resolve)));

    /** The response after its first bytes have arrived; the rest is not read. */
    const begin = async (id: string): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const { port } = server.address() as AddressInfo;
        const headers = { authorization: `Bearer ${org.owner.secret}`, accept: 'text/csv' };
        const sent = request(
          { port, host: '127.0.0.1', path: `${base}/views/${id}/records`, headers, agent: false },
          resolve,
        );
        sent.on('error', reject).end();
      });
    const large = async (): Promise<string> => {
      const { rows } = await warehouse('select active_table from $wh.record_state');
      await warehouse(
        `insert into $wh.${rows[0]?.active_table} (id, generation, content_hash, f_tranid) select n, 1, '', repeat('x', 2000) from generate_series(5, 8000) as n`,
      );
      await warehouse('update $wh.record_state set generation = generation + 1, row_count = 8000');
      return make(org.api);
    };

    it('breaks off when the database does, ends when the client disconnects, and frees its slot for the next one', async () => {
      const id = await large();
      const broken = await begin(id);
      const killed = await until(async () => {
        const { rows } = await org.admin.raw<{ rows: object[] }>(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'ClientWrite' and query like 'copy (%'",
        );
        return rows.length === 1 && rows;
      });
      expect(killed).toHaveLength(1);
      const failure = await new Promise((resolve) =>
        broken
          .on('error', resolve)
          .on('end', () => resolve('a clean end'))
          .resume(),
      );
      expect(failure).toMatchObject({ code: 'ECONNRESET' });
      const left = await begin(id);
      left.destroy();
      // The limit here is one concurrent export.
      const whole = await begin(id);
      let lines = 0;
      for await (const piece of whole) lines += String(piece).split('\n').length - 1;
      expect(lines).toBe(8_001);
    });
  });
});
