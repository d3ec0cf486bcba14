// Counts of changes, by which the lists of changes are proved.
import { describe, expect, it } from 'vitest';
import type { RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import {
  createConnectorAt,
  expectErpError,
  getMetadata,
  refusesQuery,
  rowsResponse,
  signal,
  useWire,
} from './wire.ts';

const wire = useWire();
const since = new Date('2026-03-29T00:30:00Z');
const invoice = { ...getMetadata('invoice'), linesModifiedField: 'linelastmodifieddate' };

const countChanged = (recordType: RecordTypeMetadata) =>
  createConnectorAt(wire.url).countChanged?.({ recordType, since, signal });
const changedIn = (column: string): string =>
  `${column} >= TO_DATE('2026-03-27 12:00:00', 'YYYY-MM-DD HH24:MI:SS') AND SYS_EXTRACT_UTC(${column}) >= TO_TIMESTAMP('2026-03-29 00:30:00', 'YYYY-MM-DD HH24:MI:SS')`;
const lineFilter =
  "COALESCE(l.mainline, 'F') = 'F' AND COALESCE(l.taxline, 'F') = 'F' AND COALESCE(l.iscogs, 'F') = 'F'";

describe('counts of changes', () => {
  it('are one query, of records and of those with changed lines, with the conditions of the lists', async () => {
    wire.answer = () => rowsResponse([{ records: '12', linechanges: '3' }]);
    expect(await countChanged(invoice)).toEqual({ records: 12, withChangedLines: 3 });
    expect(wire.seen.map(({ query }) => query)).toEqual([
      `SELECT COUNT(*) AS records, (SELECT COUNT(DISTINCT l.transaction) FROM transactionline l INNER JOIN transaction t ON t.id = l.transaction WHERE ${lineFilter} AND t.type = 'CustInvc' AND ${changedIn('l.linelastmodifieddate')}) AS linechanges FROM transaction t WHERE t.type = 'CustInvc' AND ${changedIn('t.lastmodifieddate')}`,
    ]);
  });

  it('have no lines where the record type has none, or lines have no time', async () => {
    wire.answer = () => rowsResponse([{ records: '0' }]);
    for (const recordType of [getMetadata('customer'), { ...invoice, linesModifiedField: null }])
      expect(await countChanged(recordType)).toEqual({ records: 0, withChangedLines: null });
    expect(wire.seen[0]?.query).toBe(
      `SELECT COUNT(*) AS records FROM customer t WHERE ${changedIn('t.lastmodifieddate')}`,
    );
  });

  it.each([
    ['no row', []],
    ['a number instead of a text', [{ records: 1 }]],
    ['a negative count', [{ records: '-1' }]],
    ['no count', [{}]],
  ])('reject %s', async (_name, rows) => {
    wire.answer = () => rowsResponse(rows);
    await expect(countChanged(getMetadata('customer'))).rejects.toMatchObject({ kind: 'answer' });
  });

  it('say that lines are hidden', async () => {
    wire.answer = refusesQuery("Record 'transactionline' was not found.");
    await expectErpError(countChanged(invoice), 'query', 'FIELD_NOT_SYNCABLE');
  });
});

it('totals count the lines that changed', async () => {
  wire.answer = () =>
    rowsResponse([
      {
        parent_id: '1',
        n: '3',
        quantity: '1',
        foreignamount: '2',
        latest: '2026-03-29T01:00:00Z',
        changed: '2',
      },
    ]);
  const request = { recordType: invoice, ids: ['1'], changedSince: since, signal };
  const totals = await createConnectorAt(wire.url).lines?.totals(request);
  expect(totals).toMatchObject([{ id: '1', lines: 3, changed: 2 }]);
  expect(wire.seen[0]?.query).toContain(
    `SUM(CASE WHEN ${changedIn('l.linelastmodifieddate')} THEN 1 ELSE 0 END) AS changed`,
  );
});
