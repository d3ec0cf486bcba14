import { describe, expect, it } from 'vitest';
import type { LineReader, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import {
  createConnectorAt,
  expectErpError,
  firstPage,
  getMetadata,
  refusesQuery,
  rowsResponse,
  sends,
  signal,
  useWire,
} from './wire.ts';

const wire = useWire();
const invoice = getMetadata('invoice');

const reader = (): LineReader => {
  const { lines } = createConnectorAt(wire.url);
  if (lines === undefined) throw new Error('no reader of lines');
  return lines;
};
const totals = (ids: readonly string[], recordType = invoice) => reader().totals({ recordType, ids, signal });
const since = new Date('2026-03-29T00:30:00Z');
const listChanged = (
  more: { recordType?: RecordTypeMetadata; afterId?: string | null; limit?: number } = {},
) => reader().listChanged({ recordType: invoice, since, afterId: null, limit: 1000, signal, ...more });

/** The record type as the metadata describe it to a role that can't read these columns of its lines. */
const without = (recordType: RecordTypeMetadata, ...hidden: readonly string[]): RecordTypeMetadata => ({
  ...recordType,
  linesModifiedField: hidden.includes(recordType.linesModifiedField ?? '')
    ? null
    : recordType.linesModifiedField,
  fields: recordType.fields.map((field) => ({
    ...field,
    ...(field.fields !== undefined && {
      fields: field.fields.map((each) => ({
        ...each,
        syncable: each.syncable && !hidden.includes(each.name),
      })),
    }),
  })),
});
const withoutLines = (recordType: RecordTypeMetadata): RecordTypeMetadata => ({
  ...recordType,
  linesModifiedField: null,
  fields: recordType.fields.map((field) =>
    field.type === 'lines' ? { ...field, syncable: false, reason: 'hidden' } : field,
  ),
});

const at = '2026-01-02T03:04:05Z';
const total = (id: string, more: object = {}): object => ({
  links: [],
  parent_id: id,
  n: '2',
  quantity: '-3',
  foreignamount: '-25.50',
  latest: at,
  ...more,
});
const lineFilter =
  "COALESCE(l.mainline, 'F') = 'F' AND COALESCE(l.taxline, 'F') = 'F' AND COALESCE(l.iscogs, 'F') = 'F'";
const utc = (column: string): string => `TO_CHAR(SYS_EXTRACT_UTC(${column}), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

describe('totals of lines', () => {
  it('are one aggregate query over the same lines that a page reads', async () => {
    wire.answer = () =>
      rowsResponse([total('-7'), total('12', { n: '1250', quantity: '.5', foreignamount: '0' })]);
    expect(await totals(['12', '-7', '13', '12'])).toEqual([
      { id: '-7', lines: 2, sums: { quantity: '-3', foreignamount: '-25.50' }, modifiedAt: at },
      { id: '12', lines: 1250, sums: { quantity: '0.5', foreignamount: '0' }, modifiedAt: at },
    ]);
    expect(wire.seen.map(({ query }) => query)).toEqual([
      `SELECT l.transaction AS parent_id, COUNT(*) AS n, SUM(l.quantity) AS quantity, SUM(l.foreignamount) AS foreignamount, MAX(${utc('l.linelastmodifieddate')}) AS latest FROM transactionline l INNER JOIN transaction t ON t.id = l.transaction WHERE l.transaction IN (12, -7, 13) AND ${lineFilter} GROUP BY l.transaction ORDER BY l.transaction ASC`,
    ]);
    expect(wire.seen[0]?.path).toContain('limit=1000&');
  });

  it('of applications are those of the links to the payment', async () => {
    wire.answer = () => rowsResponse([{ parent_id: '5', n: '1', foreignamount: '10' }]);
    expect(await totals(['5'], getMetadata('customerPayment'))).toEqual([
      { id: '5', lines: 1, sums: { foreignamount: '10' }, modifiedAt: null },
    ]);
    expect(wire.seen[0]?.query).toBe(
      `SELECT l.nextdoc AS parent_id, COUNT(*) AS n, SUM(l.foreignamount) AS foreignamount, MAX(${utc('l.lastmodifieddate')}) AS latest FROM nexttransactionlinelink l INNER JOIN transaction t ON t.id = l.nextdoc WHERE l.nextdoc IN (5) AND l.previousdoc IS NOT NULL GROUP BY l.nextdoc ORDER BY l.nextdoc ASC`,
    );
  });

  it('leave out columns that the role cannot read', async () => {
    wire.answer = () => rowsResponse([total('1', { latest: 'ignored' })]);
    expect(await totals(['1'], without(invoice, 'quantity', 'linelastmodifieddate'))).toEqual([
      { id: '1', lines: 2, sums: { foreignamount: '-25.50' }, modifiedAt: null },
    ]);
    expect(wire.seen[0]?.query).toContain(
      'SELECT l.transaction AS parent_id, COUNT(*) AS n, SUM(l.foreignamount) AS foreignamount FROM transactionline l',
    );
  });

  it('of empty columns are zero, exactly', async () => {
    wire.answer = () =>
      rowsResponse([{ parent_id: '1', n: '1' }, total('2', { foreignamount: '1E-10', quantity: null })]);
    expect(await totals(['1', '2'])).toMatchObject([
      { id: '1', lines: 1, sums: { quantity: '0', foreignamount: '0' }, modifiedAt: null },
      { id: '2', sums: { quantity: '0', foreignamount: '0.0000000001' } },
    ]);
  });

  it('that are out of range are given as they are, so that they equal nothing that is stored', async () => {
    const more = { latest: '0000-12-01T10:00:00Z', quantity: '1E120' };
    wire.answer = () => rowsResponse([total('1', more), total('2', { latest: '10000-01-01T00:00:00Z' })]);
    expect(await totals(['1', '2'])).toMatchObject([
      { id: '1', sums: { quantity: more.quantity }, modifiedAt: more.latest },
      { id: '2', modifiedAt: '10000-01-01T00:00:00Z' },
    ]);
  });

  it('of a thousand records are one request, of none no request, of more a programming error', async () => {
    const ids = Array.from({ length: 1000 }, (_unused, index) => String(index + 1));
    wire.answer = () => rowsResponse([]);
    expect(await totals([...ids, '1'])).toEqual([]);
    expect(await totals([])).toEqual([]);
    await expect(totals([...ids, '1001'])).rejects.toBeInstanceOf(RangeError);
    expect(wire.seen).toHaveLength(1);
  });

  const answers: readonly [string, readonly object[], object?][] = [
    ['a record that was not requested', [total('3')]],
    ['a record twice', [total('1'), total('1')]],
    ['records that do not ascend', [total('2'), total('1')]],
    ['a row without a record', [total('1', { parent_id: undefined })]],
    ['a record id that is a number', [total('1', { parent_id: 1 })]],
    ['a record id in another form', [total('01')]],
    ['a count of zero', [total('1', { n: '0' })]],
    ['a count that is missing', [total('1', { n: undefined })]],
    ['a count that is no integer', [total('1', { n: '1.5' })]],
    ['a count that is a JSON number', [total('1', { n: 2 })]],
    ['a sum that is no number', [total('1', { foreignamount: '£10' })]],
    ['a sum that is a JSON number', [total('1', { quantity: 0.1 })]],
    ['a time that is no time', [total('1', { latest: '1/2/2026' })]],
    ['rows to come', [total('1')], { hasMore: true }],
    ['a total of more rows', [total('1')], { totalResults: 2 }],
  ];
  it.each(answers)('are not trusted with %s', async (_name, rows, more) => {
    wire.answer = () => rowsResponse(rows, false, more);
    await expectErpError(totals(['1', '2']), 'answer', 'ANSWER_INCONSISTENT');
  });

  it('do not exist for records without lines, or for lines that the role cannot read', async () => {
    await expect(totals(['1'], getMetadata('customer'))).rejects.toBeInstanceOf(RangeError);
    await expectErpError(totals(['1'], withoutLines(invoice)), 'query', 'FIELD_NOT_SYNCABLE');
    await expect(totals(['1; DROP'])).rejects.toMatchObject({ kind: 'query' });
    expect(wire.seen).toHaveLength(0);
  });
});

describe('changed lines', () => {
  it('are asked for by their own time, one request per page', async () => {
    wire.answer = () => rowsResponse([{ parent_id: '8' }, { parent_id: '11' }], true);
    expect(await listChanged({ afterId: '7', limit: 2 })).toEqual({ ids: ['8', '11'], hasMore: true });
    expect(wire.seen.map(({ query }) => query)).toEqual([
      `SELECT DISTINCT l.transaction AS parent_id FROM transactionline l INNER JOIN transaction t ON t.id = l.transaction WHERE ${lineFilter} AND t.type = 'CustInvc' AND l.linelastmodifieddate >= TO_DATE('2026-03-27 12:00:00', 'YYYY-MM-DD HH24:MI:SS') AND SYS_EXTRACT_UTC(l.linelastmodifieddate) >= TO_TIMESTAMP('2026-03-29 00:30:00', 'YYYY-MM-DD HH24:MI:SS') AND l.transaction > 7 ORDER BY l.transaction ASC`,
    ]);
    expect(wire.seen[0]?.path).toContain('limit=2&');
  });

  it('of payments are changed applications', async () => {
    expect(await listChanged({ recordType: getMetadata('customerPayment') })).toEqual({
      ids: [],
      hasMore: false,
    });
    expect(wire.seen[0]?.query).toMatch(
      /^SELECT DISTINCT l\.nextdoc AS parent_id FROM nexttransactionlinelink l INNER JOIN transaction t ON t\.id = l\.nextdoc WHERE l\.previousdoc IS NOT NULL AND t\.type = 'CustPymt' AND l\.lastmodifieddate >= .* ORDER BY l\.nextdoc ASC$/,
    );
  });

  it.each([
    ['a record twice', [{ parent_id: '8' }, { parent_id: '8' }]],
    ['records that do not ascend', [{ parent_id: '9' }, { parent_id: '8' }]],
    ['a record at the cursor', [{ parent_id: '7' }]],
    ['a row without a record', [{ id: '8' }]],
  ])('are not trusted with %s', async (_name, rows) => {
    wire.answer = () => rowsResponse(rows);
    await expectErpError(listChanged({ afterId: '7' }), 'answer', 'ANSWER_INCONSISTENT');
  });

  it('cannot be asked for where lines have no time that the role can read', async () => {
    for (const recordType of [without(invoice, 'linelastmodifieddate'), withoutLines(invoice)])
      await expectErpError(listChanged({ recordType }), 'query', 'FIELD_NOT_SYNCABLE');
    await expect(listChanged({ recordType: getMetadata('item') })).rejects.toBeInstanceOf(RangeError);
    expect(wire.seen).toHaveLength(0);
  });

  it('fail as other queries do when the table or the column is gone', async () => {
    wire.answer = refusesQuery("Search error occurred: Record 'transactionline' was not found.");
    await expectErpError(listChanged(), 'query', 'FIELD_NOT_SYNCABLE');
    wire.answer = refusesQuery(
      "Search error occurred: Unknown identifier 'foreignamount'. Available identifiers are: {}.",
    );
    await expectErpError(totals(['1']), 'query', 'COLUMN_UNKNOWN');
  });
});

describe('the current day', () => {
  const today = () => createConnectorAt(wire.url).today(signal);

  it('is that of the session', async () => {
    wire.answer = () => rowsResponse([{ links: [], today: '2026-11-22' }]);
    expect(await today()).toBe('2026-11-22');
    expect(wire.seen.map(({ query }) => query)).toEqual([
      "SELECT TO_CHAR(CURRENT_DATE, 'YYYY-MM-DD') AS today FROM dual",
    ]);
  });

  it("is the database's where the account refuses the session's", async () => {
    wire.answer = ({ query }) =>
      query.includes('SYSDATE')
        ? rowsResponse([{ today: '2026-11-22' }])
        : refusesQuery('Search error occurred: Invalid or unsupported search.');
    expect(await today()).toBe('2026-11-22');
    wire.answer = sends(503);
    await expectErpError(today(), 'down');
    expect(wire.seen).toHaveLength(3);
  });

  it.each([[[]], [[{ today: '22/11/2026' }]], [[{ today: '2026-02-30' }]], [[{}]]])(
    'is not %j',
    async (rows) => {
      wire.answer = () => rowsResponse(rows);
      await expectErpError(today(), 'answer', 'ANSWER_INCONSISTENT');
    },
  );
});

it('listed ids have a modification time where it narrows the list, null where it is unreadable', async () => {
  wire.answer = () =>
    rowsResponse([
      { id: '1', lastmodifieddate: at },
      { id: '2', lastmodifieddate: '1/2/2026' },
    ]);
  const list = (changedSince: Date | null) =>
    createConnectorAt(wire.url).listIds({ ...firstPage, recordType: invoice, changedSince });
  expect(await list(since)).toEqual({
    listed: [
      { id: '1', modifiedAt: at },
      { id: '2', modifiedAt: null },
    ],
    hasMore: false,
  });
  expect(wire.seen[0]?.query).toContain(
    `SELECT t.id AS id, ${utc('t.lastmodifieddate')} AS lastmodifieddate FROM transaction t WHERE t.type = 'CustInvc' AND`,
  );
  // A record without a time can't have been selected by it.
  wire.answer = () => rowsResponse([{ id: '1', lastmodifieddate: at }, { id: '3' }]);
  await expectErpError(list(since), 'answer', 'ANSWER_INCONSISTENT');
  wire.seen.length = 1;
  wire.answer = () => rowsResponse([{ id: '1' }]);
  expect((await list(null)).listed).toEqual([{ id: '1', modifiedAt: null }]);
  expect(wire.seen[1]?.query).toContain('SELECT t.id AS id FROM transaction t');
});
