import { describe, expect, it } from 'vitest';
import {
  createConnectorAt,
  expectErpError,
  getMetadata,
  refuses,
  refusesQuery,
  rowsResponse,
  sends,
  signal,
  useWire,
} from './wire.ts';

const wire = useWire();
const since = new Date('2026-03-10T02:30:00Z');
const at = '2026-03-10T04:00:00Z';

const read = (recordType = 'invoice') =>
  createConnectorAt(wire.url).deletedSince?.({ recordType: getMetadata(recordType), since, signal });
const ids = async (recordType = 'invoice'): Promise<string[]> => {
  const answer = await read(recordType);
  if (answer?.available !== true) throw new Error(answer?.reason);
  return answer.deleted.map(({ id }) => id);
};
const lacks = (column: string) =>
  refusesQuery(`Search error occurred: Unknown identifier '${column}'. Available identifiers are: {d=d}`);

describe('deletedSince', () => {
  it('queries in the order of ids, from noon at least 38 hours earlier', async () => {
    await read();
    expect(wire.seen[0]?.query).toBe(
      'SELECT d.recordid AS id, TO_CHAR(SYS_EXTRACT_UTC(d.deleteddate), \'YYYY-MM-DD"T"HH24:MI:SS"Z"\') AS deleteddate, ' +
        'd.type AS type, d.scriptid AS scriptid, d.recordtypeid AS recordtypeid, d.iscustomrecord AS iscustomrecord, ' +
        'd.iscustomlist AS iscustomlist, d.iscustomtransaction AS iscustomtransaction FROM deletedrecord d WHERE d.recordid IS NOT NULL ' +
        "AND d.deleteddate >= TO_DATE('2026-03-08 12:00:00', 'YYYY-MM-DD HH24:MI:SS') ORDER BY d.recordid ASC",
    );
  });

  it.each([
    ['type in words', 'salesOrder', { type: 'Sales Order' }],
    ['type as a name', 'creditMemo', { type: 'CREDITMEMO' }],
    ['the code of a transaction', 'invoice', { type: 'CustInvc' }],
    ['scriptid alone', 'customerPayment', { scriptid: 'customerpayment' }],
    ['recordtypeid as a name', 'vendor', { recordtypeid: 'vendor' }],
    ['a generic type and a name', 'invoice', { type: 'Transaction', scriptid: 'invoice' }],
    ['one of many kinds of item', 'item', { type: 'Non-inventory Item' }],
    ['nothing but a number', 'employee', { recordtypeid: '-4' }],
    ['a language that we do not know', 'contact', { type: 'Ansprechpartner' }],
    ['nothing at all', 'customer', {}],
  ])('recognizes a record type by %s', async (_name, recordType, row) => {
    wire.answer = () => rowsResponse([{ id: '5', deleteddate: at, ...row }]);
    expect(await read(recordType)).toEqual({ available: true, deleted: [{ id: '5', deletedAt: at }] });
  });

  it.each([
    [{ type: 'Invoice' }],
    [{ type: 'Journal Entry' }],
    [{ scriptid: 'customrecord_shipment', type: 'Shipment' }],
    [{ type: 'Shipment', iscustomrecord: 'T' }],
    [{ type: 'Vendor Bill', recordtypeid: '-30' }],
    [{ type: 'Inventory Item', iscustomrecord: 'F' }],
  ])('leaves out rows of another record type: %j', async (row) => {
    wire.answer = () => rowsResponse([{ id: '5', deleteddate: at, ...row }]);
    expect(await read('customer')).toEqual({ available: true, deleted: [] });
  });

  it('returns each id once, with its latest time, and no id that no record can have', async () => {
    wire.answer = () =>
      rowsResponse([
        { id: '-3', deleteddate: '2026-03-10' },
        { id: '5', deleteddate: '2026-03-10T04:00:00Z' },
        { id: '5', deleteddate: '2026-03-11T04:00:00Z' },
        { id: '5' },
        { id: 'custom_5', deleteddate: at },
        { id: '6', deleteddate: '3/10/2026' },
      ]);
    expect(await read()).toEqual({
      available: true,
      deleted: [
        { id: '-3', deletedAt: '2026-03-10' },
        { id: '5', deletedAt: '2026-03-11T04:00:00Z' },
        { id: '6', deletedAt: null },
      ],
    });
  });

  it('loses nothing between pages, even where records of several types share an id', async () => {
    const kinds = ['Customer', 'Journal Entry', 'Invoice'];
    const all = Array.from({ length: 2_500 }, (_unused, index) => ({
      id: String(Math.floor(index / 3) + 1),
      type: kinds[index % 3],
      deleteddate: at,
    }));
    wire.answer = ({ query }) => {
      const after = Number(/d\.recordid > (\d+)/.exec(query)?.[1] ?? 0);
      const rest = all.filter(({ id }) => Number(id) > after);
      return rowsResponse(rest.slice(0, 1000), rest.length > 1000);
    };
    expect(await ids()).toEqual(Array.from({ length: 833 }, (_unused, index) => String(index + 1)));
    expect(await ids('customer')).toHaveLength(834);
  });

  it('continues without columns that the account lacks', async () => {
    wire.answer = ({ query }) => {
      const missing = ['iscustomlist', 'recordtypeid', 'scriptid'].find((column) =>
        query.includes(`d.${column}`),
      );
      return missing === undefined ? rowsResponse([{ id: '5', type: 'Invoice' }]) : lacks(missing);
    };
    expect(await ids()).toEqual(['5']);
    expect(wire.seen).toHaveLength(4);
  });

  it.each([
    ['400', refusesQuery('Search error occurred: Invalid or unsupported search.')],
    ['500', refuses(500, 'UNEXPECTED_ERROR', 'An unexpected error occurred. Error ID: abc')],
  ])('reads only the date where the query with the time fails with %s', async (_name, refusal) => {
    wire.answer = ({ query }) =>
      query.includes('SYS_EXTRACT_UTC') ? refusal : rowsResponse([{ id: '5', deleteddate: '2026-03-10' }]);
    expect(await read()).toEqual({ available: true, deleted: [{ id: '5', deletedAt: '2026-03-10' }] });
  });

  it.each([
    ['hidden', refusesQuery("Search error occurred: Record 'deletedrecord' was not found.")],
    ['unknown', refusesQuery('Invalid search type: deletedrecord.')],
    ['refused', refuses(403, 'INSUFFICIENT_PERMISSION', 'Permission Violation')],
    ['without ids', lacks('recordid')],
  ])('reports a list that is %s, with a fix', async (_name, refusal) => {
    wire.answer = refusal;
    expect(await read()).toEqual({
      available: false,
      reason: expect.stringMatching(/deletedrecord|Permission|recordid/),
      fix: expect.stringContaining('Deleted Records'),
    });
  });

  it('does not trust a list that is not sorted by id', async () => {
    wire.answer = () => rowsResponse([{ id: '10' }, { id: '9' }], true);
    expect(await read()).toMatchObject({ available: false, reason: expect.stringContaining('not sorted') });
    wire.answer = () => rowsResponse([{ id: '10' }, { id: '10' }], true);
    expect(await read()).toMatchObject({ available: false });
    wire.answer = ({ query }) => rowsResponse([{ id: '3' }, { id: '4' }], query.length > 0);
    expect(await read()).toMatchObject({ available: false });
  });

  it.each([
    ['an outage', sends(503), 'down'],
    ['a lasting server error', refuses(500, 'UNEXPECTED_ERROR', 'Error ID: abc'), 'down'],
    ['throttling', sends(429), 'throttled'],
    ['a refused log-in', sends(401), 'credentials'],
  ])('rejects for %s instead of returning an empty list', async (_name, refusal, kind) => {
    wire.answer = refusal;
    await expectErpError(read(), kind);
  });
});
