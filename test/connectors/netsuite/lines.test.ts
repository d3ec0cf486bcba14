import { describe, expect, it } from 'vitest';
import type { RecordPage } from '../../../src/connectors/connector.ts';
import {
  createConnectorAt,
  expectErpError,
  firstPage,
  getMetadata,
  isRequestedBy,
  readPages,
  rowsResponse,
  sends,
  signal,
  useWire,
} from './wire.ts';

const wire = useWire();
const invoice = getMetadata('invoice');

describe('the lines of a document', () => {
  const at = '2026-01-02T03:04:05Z';
  const header = (id: string, modified = at) => ({ id, lastmodifieddate: modified });
  const line = (parent: string, id: string, more: object = {}) => ({
    parent_id: parent,
    id,
    parent_modified: at,
    ...more,
  });
  const isLines = (query: string): boolean => query.includes('FROM transactionline');
  const read = (fields = ['lines']) =>
    createConnectorAt(wire.url).readPage({ ...firstPage, recordType: invoice, fields });

  it('are read for exactly the ids of the page, in line order, with labels next to references', async () => {
    wire.answer = ({ query }) =>
      isLines(query)
        ? rowsResponse([
            line('1', '1', { linesequencenumber: '2', item: '7', df_item: 'Widget' }),
            line('1', '2', { linesequencenumber: '1', quantity: '-2', netamount: '-10.50' }),
          ])
        : rowsResponse([header('1'), header('2')].filter(isRequestedBy(query)));
    const page = await read();
    expect(page.records.map(({ id, lines }) => [id, lines?.length])).toEqual([
      ['1', 2],
      ['2', 0],
    ]);
    expect(page.records[0]?.lines?.[0]).toMatchObject({
      id: '2',
      linesequencenumber: '1',
      item: null,
      'item.name': null,
      quantity: '-2',
      netamount: '-10.50',
    });
    expect(page.records[0]?.lines?.[1]).toMatchObject({
      id: '1',
      linesequencenumber: '2',
      item: '7',
      'item.name': 'Widget',
    });
    const fields = Object.keys(page.records[0]?.lines?.[0] ?? {}).slice(0, 6);
    expect(fields.join(' ')).toBe('id linesequencenumber uniquekey item item.name itemtype');
    const query = wire.seen.find((seen) => isLines(seen.query))?.query;
    expect(query).toContain(
      "FROM transactionline l INNER JOIN transaction t ON t.id = l.transaction WHERE l.transaction IN (1, 2) AND COALESCE(l.mainline, 'F') = 'F'",
    );
    expect(query).toContain('ORDER BY l.transaction ASC, l.id ASC');
  });

  it('reject only their document when they make the response unreadable', async () => {
    wire.answer = ({ query }, response) => {
      if (!isLines(query)) return rowsResponse([header('1'), header('2'), header('3')]);
      const requested = ['1', '2', '3'].filter((id) =>
        /IN \(([^)]*)\)/.exec(query)?.[1]?.split(', ').includes(id),
      );
      if (!requested.includes('2')) return rowsResponse(requested.map((id) => line(id, `${id}0`)));
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"items":[{"memo":"\u0001"}]}');
    };
    const page = await read();
    expect(page.records.map(({ id, lines }) => [id, lines?.length])).toEqual([
      ['1', 1],
      ['3', 1],
    ]);
    expect(page).toMatchObject({
      rejected: [{ id: '2', code: 'LINE_UNREADABLE', message: expect.stringContaining('malformed') }],
      lastId: '3',
    });
  });

  it('are not queried when the page is empty or lines are not requested', async () => {
    wire.answer = () => rowsResponse([]);
    expect((await read()).records).toEqual([]);
    wire.answer = () => rowsResponse([header('1')]);
    expect((await read(['tranid'])).records[0]?.lines).toBeNull();
    expect(wire.seen.some(({ query }) => isLines(query))).toBe(false);
  });

  it('continue behind the last line, over as many responses as necessary', async () => {
    serveDocuments([900, 900, 900]);
    const page = await read();
    expect(page.records).toHaveLength(3);
    const inOrder = Array.from({ length: 900 }, (_unused, index) => String(index + 1));
    for (const { lines } of page.records) expect(lines?.map(({ id }) => id)).toEqual(inOrder);
    expect(
      wire.seen.filter(({ query }) => isLines(query)).map(({ query }) => /IN \(([^)]*)\)/.exec(query)?.[1]),
    ).toEqual(['0, 1, 2', '1, 2', '2']);
  });

  it('are complete for documents without lines and with thousands, wherever a response ends', async () => {
    const counts = [0, 2_500, 1, 0, 999, 1_000, 1_001, 0, 3].concat(
      Array.from({ length: 300 }, (_unused, index) => (index * 7) % 40),
    );
    serveDocuments(counts);
    const read = await readOn();
    expect(read.flatMap(({ records }) => records.map(({ id, lines }) => [id, lines?.length]))).toEqual(
      counts.map((count, id) => [String(id), count]),
    );
    expect(read.length).toBeGreaterThan(1);
    expect(wire.seen.length).toBeLessThan(45);
  });

  /** Serves documents with these numbers of lines. */
  function serveDocuments(counts: readonly number[]): void {
    const all = counts.flatMap((count, parent) =>
      Array.from({ length: count }, (_unused, index) => {
        const id = String(index + 1);
        return line(String(parent), id, { linesequencenumber: id });
      }),
    );
    wire.answer = ({ query, path }) => {
      const limit = Number(/limit=(\d+)/.exec(path)?.[1]);
      const page = (rows: readonly object[]) => rowsResponse(rows.slice(0, limit), rows.length > limit);
      if (!isLines(query)) {
        const after = Number(/t\.id > (-?\d+)/.exec(query)?.[1] ?? -1);
        return page(
          counts
            .flatMap((_count, id) => (id > after ? [header(String(id))] : []))
            .filter(isRequestedBy(query)),
        );
      }
      const requested = new Set(/l\.transaction IN \(([^)]*)\)/.exec(query)?.[1]?.split(', '));
      const [, parent = '-1', id = '-1'] = /l\.transaction = (\d+) AND l\.id > (\d+)/.exec(query) ?? [];
      return page(
        all.filter(
          (row) =>
            requested.has(row.parent_id) &&
            (Number(row.parent_id) > Number(parent) ||
              (row.parent_id === parent && Number(row.id) > Number(id))),
        ),
      );
    };
  }

  function readOn(): Promise<RecordPage[]> {
    const connector = createConnectorAt(wire.url);
    const page = { ...firstPage, recordType: invoice, fields: ['lines'] };
    return readPages((last) => connector.readPage({ ...page, afterId: last?.lastId ?? null }));
  }

  it('end a page early when there are many, and the next one reads no more headers than it can hold', async () => {
    serveDocuments(Array.from({ length: 900 }, () => 40));
    const pages = await readOn();
    const sizes = pages.map(({ records }) =>
      records.reduce((sum, { lines }) => sum + (lines?.length ?? 0), 0),
    );
    expect(sizes.reduce((sum, size) => sum + size)).toBe(36_000);
    expect(Math.max(...sizes)).toBeLessThan(5_100);
    expect(pages.flatMap(({ records }) => records.map(({ id }) => Number(id)))).toEqual(
      Array.from({ length: 900 }, (_unused, id) => id),
    );
    expect(
      wire.seen
        .filter(({ query }) => !isLines(query) && !query.includes('t.id IN'))
        .map(({ path }) => /limit=(\d+)/.exec(path)?.[1]),
    ).toEqual(['1000', ...pages.slice(1).map(() => '100')]);
  });

  it('never end a page within a document, however many it has, and never make an empty page', async () => {
    serveDocuments([12_500, 9_000, 1]);
    const pages = await readOn();
    const counts = pages.map(({ records }) => records.map(({ lines }) => lines?.length));
    expect(counts).toEqual([[12_500], [9_000], [1]]);
  });

  it('do not shorten a page of given ids', async () => {
    serveDocuments(Array.from({ length: 300 }, () => 40));
    const ids = Array.from({ length: 300 }, (_unused, id) => String(id));
    const request = { recordType: invoice, fields: ['lines'], ids, signal };
    const page = await createConnectorAt(wire.url).readByIds(request);
    expect([page.records.length, page.hasMore]).toEqual([300, false]);
  });

  it('leave the rejected records behind the end of a short page to the next page', async () => {
    serveDocuments(Array.from({ length: 500 }, () => 40));
    const { answer } = wire;
    wire.answer = (seen, response) => {
      const given = answer(seen, response) as { items: { id: string; lastmodifieddate?: string }[] };
      for (const row of isLines(seen.query) ? [] : given.items)
        if (row.id === '3' || row.id === '499') row.lastmodifieddate = 'never';
      return given;
    };
    const pages = await readOn();
    expect(pages.map(({ rejected }) => rejected.map(({ id }) => id))).toEqual([
      ['3'],
      ...pages.slice(2).map(() => []),
      ['499'],
    ]);
    expect(pages.flatMap(({ records }) => records)).toHaveLength(498);
  });

  it.each([
    ['not requested', [line('9', '1')]],
    ['out of order', [line('1', '2'), line('1', '1')]],
    ['twice', [line('1', '1'), line('1', '1')]],
    ['of a record before', [line('2', '1'), line('1', '1')]],
    ['without an id', [{ parent_id: '1' }]],
    ['without a record', [{ id: '1' }]],
  ])('are an error when one is %s', async (_name, lines) => {
    wire.answer = ({ query }) =>
      isLines(query) ? rowsResponse(lines) : rowsResponse([header('1'), header('2')]);
    await expectErpError(read(), 'answer', 'ANSWER_INCONSISTENT');
  });

  it('reject only their document when one is unreadable', async () => {
    wire.answer = ({ query }) =>
      isLines(query)
        ? rowsResponse([line('1', '4', { quantity: 'two' }), line('2', '1')])
        : rowsResponse([header('1'), header('2')]);
    const page = await read();
    expect(page.records.map(({ id }) => id)).toEqual(['2']);
    expect(page.rejected).toEqual([
      {
        id: '1',
        code: 'LINE_UNREADABLE',
        message: 'line 4: quantity is not a number',
        values: { id: '1', lastmodifieddate: '2026-01-02T03:04:05Z' },
      },
    ]);
  });

  it('fail the whole page when their second page fails', async () => {
    wire.answer = ({ query }) => {
      if (!isLines(query)) return rowsResponse([header('1')]);
      return query.includes('l.id >') ? sends(503) : rowsResponse([line('1', '1')], true);
    };
    await expectErpError(read(), 'down');
  });

  it('are read again with their header when the document was edited in between', async () => {
    const later = '2026-01-02T03:04:06Z';
    wire.answer = ({ query }) => {
      if (isLines(query))
        return rowsResponse([
          line('1', '1', { parent_modified: later, quantity: '5' }),
          ...(query.includes('IN (1, 2)') ? [line('2', '1')] : []),
        ]);
      return query.includes('t.id IN (1)')
        ? rowsResponse([{ ...header('1', later), foreigntotal: '50' }])
        : rowsResponse([{ ...header('1'), foreigntotal: '40' }, header('2')]);
    };
    const page = await read(['foreigntotal', 'lines']);
    expect(page.records).toMatchObject([
      { id: '1', modifiedAt: later, values: { foreigntotal: '50' }, lines: [{ quantity: '5' }] },
      { id: '2' },
    ]);
    expect(page.rejected).toEqual([]);
  });

  it('reject a document that changes with each read, instead of mixing its versions', async () => {
    let edits = 0;
    wire.answer = ({ query }) =>
      isLines(query)
        ? rowsResponse([
            line('1', '1', { parent_modified: `2026-01-02T03:05:${String((edits += 1)).padStart(2, '0')}Z` }),
          ])
        : rowsResponse([header('1', `2026-01-02T03:06:${String(edits).padStart(2, '0')}Z`)]);
    const page = await read();
    expect(page).toMatchObject({
      records: [],
      rejected: [{ id: '1', code: 'CHANGED_WHILE_READ' }],
      lastId: '1',
    });
    expect(edits).toBe(4);
  });

  it('are left out when the document was deleted after its header was read', async () => {
    wire.answer = ({ query }) =>
      isLines(query)
        ? rowsResponse([line('1', '1', { parent_modified: '2026-02-01T00:00:00Z' })])
        : query.includes('t.id IN')
          ? rowsResponse([])
          : rowsResponse([header('1')]);
    expect(await read()).toEqual({ records: [], rejected: [], lastId: '1', hasMore: false });
  });

  it('are not taken for none when the document was deleted after its header was read', async () => {
    wire.answer = ({ query }) =>
      rowsResponse(isLines(query) || query.includes('t.id IN') ? [] : [header('1')]);
    expect(await read()).toEqual({ records: [], rejected: [], lastId: '1', hasMore: false });
  });

  it('are read again with their header when the document lost them in between', async () => {
    const later = '2026-01-02T03:04:06Z';
    wire.answer = ({ query }) =>
      rowsResponse(isLines(query) ? [] : [header('1', query.includes('t.id IN') ? later : at)]);
    expect((await read()).records).toMatchObject([{ id: '1', modifiedAt: later, lines: [] }]);
  });

  it.each([
    ['deleted', []],
    ['edited', [header('1', '2026-01-02T03:04:06Z')]],
  ])('are not mixed when the document was %s between two responses', async (_name, headersNow) => {
    const first = Array.from({ length: 1_000 }, (_unused, index) => line('1', String(index + 1)));
    let edited = false;
    wire.answer = ({ query }) => {
      if (!isLines(query)) return rowsResponse(query.includes('t.id IN') ? headersNow : [header('1')]);
      if (edited)
        return rowsResponse(
          headersNow.map(() => line('1', '1', { parent_modified: '2026-01-02T03:04:06Z' })),
        );
      edited = query.includes('l.id > 1000');
      return edited ? rowsResponse([]) : rowsResponse(first, true);
    };
    expect((await read()).records.map(({ lines }) => lines?.length)).toEqual(headersNow.map(() => 1));
  });
});
