// The fields that the connector adds in the form that the document shows to a person: signs of lines, status
// without the type.
import { beforeEach, describe, expect, it } from 'vitest';
import type { FieldMetadata, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { pluck } from '../../setup/api.ts';
import { createConnectorAt, firstPage, refusesQuery, rowsResponse, signal, useWire } from './wire.ts';

const wire = useWire();
let types: ReadonlyMap<string, RecordTypeMetadata>;
const at = '2026-01-02T03:04:05Z';

const readMetadata = async (): Promise<ReadonlyMap<string, RecordTypeMetadata>> =>
  new Map((await createConnectorAt(wire.url).metadata(signal)).map((type) => [type.name, type]));
const getType = (name: string): RecordTypeMetadata => {
  const type = types.get(name);
  if (type === undefined) throw new Error(`${name} is not described`);
  return type;
};
const listFields = (type: RecordTypeMetadata): readonly FieldMetadata[] => type.fields;
const listLineFields = (type: RecordTypeMetadata): readonly FieldMetadata[] =>
  listFields(type).find((field) => field.type === 'lines')?.fields ?? [];
const isDisplay = ({ name }: FieldMetadata): boolean => /^display[A-Z]/.test(name);

beforeEach(async () => {
  types = await readMetadata();
  wire.seen.length = 0;
});

const transactions = ['invoice', 'creditMemo', 'salesOrder', 'customerPayment'];
const lineNames = ['displayQuantity', 'displayNetAmount', 'displayForeignAmount'];

describe('metadata', () => {
  it('offers a readable status on every transaction and readable amounts on the lines of every sales document', () => {
    const offered = (fields: readonly FieldMetadata[]) =>
      fields.filter(isDisplay).map(({ name, syncable }) => [name, syncable]);
    for (const name of transactions)
      expect(offered(listFields(getType(name))), name).toEqual([['displayStatus', true]]);
    for (const name of ['invoice', 'creditMemo', 'salesOrder'])
      expect(offered(listLineFields(getType(name))), name).toEqual(lineNames.map((line) => [line, true]));
    expect(offered(listLineFields(getType('customerPayment')))).toEqual([]);
    for (const name of ['customer', 'item', 'vendor', 'employee', 'contact'])
      expect(offered(listFields(getType(name))), name).toEqual([]);
  });

  it('describes them next to the field that they come from, with the sign convention in the label', () => {
    const names = listLineFields(getType('invoice')).map(({ name }) => name);
    for (const [raw, shown] of [
      ['quantity', 'displayQuantity'],
      ['netamount', 'displayNetAmount'],
      ['foreignamount', 'displayForeignAmount'],
    ])
      expect(names[names.indexOf(raw ?? '') + 1]).toBe(shown);
    for (const line of listLineFields(getType('creditMemo')).filter(isDisplay))
      expect(line.label).toMatch(/as the document shows it.*positive/i);
    const status = listFields(getType('invoice')).find(({ name }) => name === 'displayStatus');
    expect(status).toMatchObject({ type: 'text', volatile: true, custom: false, reason: null });
    expect(status?.label).toMatch(/without the type/i);
  });

  it("says why one can't be read where the role can't read what it comes from", async () => {
    wire.answer = ({ query }) => {
      const refused = ['t.status', 'l.quantity'].find(
        (column) => query.includes(`${column} `) || query.includes(`${column},`),
      );
      return refused === undefined
        ? rowsResponse([])
        : refusesQuery(`Search error occurred: Unknown identifier '${refused.slice(2).toUpperCase()}'.`);
    };
    types = await readMetadata();
    const status = listFields(getType('invoice')).find(({ name }) => name === 'displayStatus');
    expect(status).toMatchObject({ syncable: false, reason: expect.stringContaining('status') });
    expect(
      listLineFields(getType('invoice')).filter((line) => isDisplay(line) && !line.syncable),
    ).toMatchObject([{ name: 'displayQuantity', reason: expect.stringContaining('quantity') }]);
  });

  it('offers no readable status where the account has no display text of statuses', async () => {
    wire.answer = ({ query }) =>
      query.includes('BUILTIN.DF(t.status)')
        ? refusesQuery("Search error occurred: Invalid or unsupported search for 'STATUS'.")
        : rowsResponse([]);
    types = await readMetadata();
    expect(
      listFields(getType('invoice')).filter(({ name }) => name === 'status' || name === 'displayStatus'),
    ).toMatchObject([
      { name: 'status', type: 'text', syncable: true },
      { name: 'displayStatus', syncable: false, reason: expect.stringContaining('display text') },
    ]);
  });
});

const isLines = (query: string): boolean => query.includes('FROM transactionline');
/** Reads a document that has these lines in the ERP. */
const readDocument = (recordType: string, lines: readonly object[]) => {
  wire.answer = ({ query }) =>
    rowsResponse(
      isLines(query)
        ? lines.map((line) => ({ parent_id: '1', parent_modified: at, ...line }))
        : [{ id: '1', lastmodifieddate: at }],
    );
  const request = { recordType: getType(recordType), fields: ['lines'], ids: ['1'], signal };
  return createConnectorAt(wire.url).readByIds(request);
};
/** The lines of one document whose three amounts are these texts in the ERP. */
async function readLines(recordType: string, texts: readonly (string | undefined)[]) {
  const lines = texts.map((text, index) => ({
    id: String(index + 1),
    linesequencenumber: String(index + 1),
    ...(text !== undefined && { quantity: text, netamount: text, foreignamount: text }),
  }));
  const { records, rejected } = await readDocument(recordType, lines);
  expect(rejected).toEqual([]);
  return records[0]?.lines ?? [];
}

describe('lines', () => {
  /** What the ledger has of a sale, what the document shows, and what is kept of the former. */
  const amounts: [string | undefined, string | null, (string | null)?][] = [
    ['-2', '2'],
    ['-10.50', '10.50'],
    ['3.25', '-3.25'],
    ['0', '0'],
    ['0.00', '0.00'],
    ['-0.00', '0.00'],
    ['-.5', '0.5', '-0.5'],
    ['-1E-4', '0.0001', '-0.0001'],
    ['-12345678901234567890.123456789', '12345678901234567890.123456789'],
    [undefined, null, null],
  ];

  it.each(['invoice', 'salesOrder'])(
    'of an %s have the sign that the document shows, exactly, next to the raw values',
    async (name) => {
      const lines = await readLines(
        name,
        amounts.map(([sold]) => sold),
      );
      const shown = amounts.map(([, positive]) => positive);
      for (const field of lineNames) expect(pluck(lines, field), field).toEqual(shown);
      expect(lines.map(({ quantity }) => quantity)).toEqual(amounts.map(([sold, , kept = sold]) => kept));
    },
  );

  it('of a credit memo keep the sign of the ledger, which is that of the document', async () => {
    const lines = await readLines('creditMemo', ['2', '10.50', '-3.25', '0.00', '-0.0', undefined]);
    const shown = ['2', '10.50', '-3.25', '0.00', '0.0', null];
    for (const field of lineNames) expect(pluck(lines, field), field).toEqual(shown);
  });

  it('cost no column of the query more', async () => {
    await readLines('invoice', ['-1']);
    const query = wire.seen.find((seen) => isLines(seen.query))?.query ?? '';
    expect(query).not.toMatch(/display/i);
    expect(query.match(/l\.quantity/g)).toHaveLength(1);
  });

  it('reject their document once, by the name of the raw field, where that is no number', async () => {
    const { rejected } = await readDocument('invoice', [{ id: '1', quantity: 'many' }]);
    expect(rejected).toEqual([
      {
        id: '1',
        code: 'LINE_UNREADABLE',
        message: 'line 1: quantity is not a number',
        values: { id: '1', lastmodifieddate: '2026-01-02T03:04:05Z' },
      },
    ]);
  });
});

describe('the status', () => {
  async function readStatus(
    recordType: string,
    labels: readonly (string | undefined)[],
    fields = ['displayStatus'],
  ) {
    wire.answer = () =>
      rowsResponse(
        labels.map((label, index) => ({
          id: String(index + 1),
          lastmodifieddate: at,
          status: 'A',
          ...(label !== undefined && { df_status: label }),
        })),
      );
    const request = { ...firstPage, recordType: getType(recordType), fields, limit: 100 };
    return (await createConnectorAt(wire.url).scan(request)).records;
  }

  it.each([
    ['Invoice : Open', 'Open'],
    ['Sales Order : Pending Fulfillment', 'Pending Fulfillment'],
    ['Payment : Not Deposited', 'Not Deposited'],
    ['Rechnung : Vollständig bezahlt', 'Vollständig bezahlt'],
    ['Facture\u00a0:\u00a0Ouverte', 'Ouverte'],
    ['Sales Order : On hold : credit', 'On hold : credit'],
    ['Open', 'Open'],
    ['Due: today', 'Due: today'],
    ['Invoice : ', null],
    [undefined, null],
  ])('%j is shown as %j', async (label, shown) => {
    for (const type of transactions)
      expect((await readStatus(type, [label])).map(({ values }) => values['displayStatus'])).toEqual([shown]);
  });

  it('comes alone where it is requested alone, and next to the raw code and label otherwise', async () => {
    expect(await readStatus('invoice', ['Invoice : Open'])).toEqual([
      {
        id: '1',
        modifiedAt: at,
        values: { id: '1', lastmodifieddate: at, displayStatus: 'Open' },
        labels: {},
      },
    ]);
    expect(await readStatus('invoice', ['Invoice : Open'], ['status', 'displayStatus'])).toEqual([
      {
        id: '1',
        modifiedAt: at,
        values: { id: '1', lastmodifieddate: at, status: 'A', displayStatus: 'Open' },
        labels: { status: 'Invoice : Open' },
      },
    ]);
    expect(wire.seen.at(-1)?.query.match(/t\.status/g)).toHaveLength(2);
  });
});
