import { beforeEach, describe, expect, it } from 'vitest';
import {
  type FieldMetadata,
  type RecordTypeMetadata,
  scannedFields,
} from '../../../src/connectors/connector.ts';
import {
  createConnectorAt,
  expectErpError,
  refuses,
  refusesQuery,
  rowsResponse,
  type Seen,
  sends,
  signal,
  useWire,
} from './wire.ts';

const wire = useWire();

/** An account that lacks some columns, refuses some with a server error, and hides some tables. */
type Account = {
  missing: string[];
  broken: string[];
  hidden: string[];
  catalogue: (entry: string) => unknown;
};
let account: Account;

const createSchema = (properties: object) => ({
  type: 'object',
  properties,
  $schema: 'https://json-schema.org/draft-06/hyper-schema#',
});
const custom = (title: string, type: string, more: object = {}) => ({
  ...{ title, type, ...more },
  'x-ns-custom-field': true,
});
const catalogues: Readonly<Record<string, object>> = {
  customer: createSchema({
    custentity_region: { ...custom('Region', 'string'), nullable: true },
    custentity_since: custom('Since', 'string', { format: 'date' }),
    custentity_called: custom('Called', 'string', { format: 'date-time' }),
    custentity_score: custom('Score', 'number', { format: 'double' }),
    custentity_visits: { type: 'integer', 'x-ns-custom-field': true },
    custentity_vip: custom('VIP', 'boolean'),
    custentity_owner: {
      title: 'Owner',
      $ref: '/services/rest/record/v1/metadata-catalog/employee',
      'x-ns-custom-field': true,
    },
    custentity_tier: custom('Tier', 'object', {
      properties: { id: { type: 'string', enum: ['1', '2'] }, refName: { type: 'string' } },
    }),
    custEntity_Tags: custom('Tags', 'object', { properties: { items: { type: 'array' } } }),
    companyName: { title: 'Company', type: 'string' },
    'custentity bad name': custom('Bad', 'string'),
  }),
  invoice: createSchema({
    custbody_po: custom('PO', 'string'),
    item: {
      type: 'object',
      properties: {
        items: {
          type: 'array',
          items: createSchema({ custcol_engraving: custom('Engraving', 'string') }),
        },
      },
    },
  }),
  creditMemo: createSchema({}),
  inventoryItem: createSchema({ custitem_colour: custom('Colour', 'string') }),
};

beforeEach(async () => {
  account = {
    missing: [],
    broken: [],
    hidden: [],
    catalogue: (entry) =>
      catalogues[entry] ?? refuses(404, 'NONEXISTENT_ID', `Record type '${entry}' does not exist.`),
  };
  wire.answer = (seen) =>
    seen.method === 'GET' ? account.catalogue(seen.path.split('/').at(-1) ?? '') : answerQuery(seen);
});

function answerQuery({ query }: Seen): unknown {
  const columns = [...query.matchAll(/\b([tlc])\.([a-z0-9_]+)/g)].map(
    ([, alias, name]) => `${alias}.${name}`,
  );
  const tables = [...query.matchAll(/(?:FROM|JOIN) (\w+)/g)].map(([, table]) => String(table));
  const hidden = tables.find((table) => account.hidden.includes(table));
  if (hidden !== undefined) return refusesQuery(`Search error occurred: Record '${hidden}' was not found.`);
  const missing = columns
    .find((column) => account.missing.includes(column))
    ?.slice(2)
    .toUpperCase();
  if (missing !== undefined)
    return refusesQuery(
      `Search error occurred: Unknown identifier '${missing}'. Available identifiers are: {t=x}`,
    );
  if (columns.some((column) => account.broken.includes(column)))
    return refuses(500, 'UNEXPECTED_ERROR', 'An unexpected error occurred. Error ID: abc');
  return rowsResponse([]);
}

const read = async (): Promise<ReadonlyMap<string, RecordTypeMetadata>> =>
  new Map((await createConnectorAt(wire.url).metadata(signal)).map((type) => [type.name, type]));
const findField = (type: RecordTypeMetadata | undefined, name: string): FieldMetadata | undefined =>
  type?.fields.find((field) => field.name === name);
const unsyncable = (type: RecordTypeMetadata | undefined): string[] =>
  (type?.fields ?? []).filter(({ syncable }) => !syncable).map(({ name }) => name);

describe('metadata', () => {
  it('describes the record types of an account with all columns and permissions', async () => {
    const types = await read();
    expect([...types.keys()].join(' ')).toBe(
      'customer item invoice creditMemo salesOrder customerPayment vendor employee contact',
    );
    expect(types.get('invoice')).toMatchObject({
      label: 'Invoice',
      table: 'transaction',
      source: 'catalogue+probe',
      idType: 'integer',
    });
    expect(findField(types.get('invoice'), 'foreignamountunpaid')).toMatchObject({
      type: 'number',
      volatile: true,
      syncable: true,
      custom: false,
      reason: null,
    });
    expect(findField(types.get('invoice'), 'entity')).toMatchObject({ type: 'reference', volatile: false });
    expect(findField(types.get('invoice'), 'daysopen')).toMatchObject({
      syncable: false,
      reason: expect.stringContaining('calculates'),
    });
    expect(unsyncable(types.get('invoice'))).toEqual(['daysopen', 'daysoverduesearch']);
    expect(findField(types.get('customer'), 'lines')).toBeUndefined();
    const lines = findField(types.get('creditMemo'), 'lines');
    const first = lines?.fields?.slice(0, 4).map(({ name }) => name);
    expect(first).toEqual(['id', 'linesequencenumber', 'uniquekey', 'item']);
    expect(lines?.fields?.find(({ name }) => name === 'quantity')?.label).toMatch(/negative/);
  });

  it('finds custom fields with their types and labels, those of lines within the lines', async () => {
    const types = await read();
    const custom = (types.get('customer')?.fields ?? []).filter((field) => field.custom);
    expect(custom.map(({ name, label, type }) => [name, label, type])).toEqual([
      ['custentity_region', 'Region', 'text'],
      ['custentity_since', 'Since', 'date'],
      ['custentity_called', 'Called', 'time'],
      ['custentity_score', 'Score', 'number'],
      ['custentity_visits', 'custentity_visits', 'integer'],
      ['custentity_vip', 'VIP', 'boolean'],
      ['custentity_owner', 'Owner', 'reference'],
      ['custentity_tier', 'Tier', 'list'],
      ['custentity_tags', 'Tags', 'multiselect'],
    ]);
    expect(findField(types.get('item'), 'custitem_colour')).toMatchObject({ custom: true });
    expect(findField(types.get('invoice'), 'custbody_po')).toMatchObject({ custom: true, syncable: true });
    expect(findField(types.get('invoice'), 'custcol_engraving')).toBeUndefined();
    expect(findField(types.get('invoice'), 'lines')?.fields?.at(-1)).toMatchObject({
      name: 'custcol_engraving',
      label: 'Engraving',
      custom: true,
    });
  });

  it('marks volatile fields and lines, and defines which records are open', async () => {
    const types = await read();
    const openWhen = Object.fromEntries([...types].map(([name, type]) => [name, type.openWhen]));
    expect(openWhen).toEqual({
      customer: 'always',
      item: 'always',
      invoice: { field: 'foreignamountunpaid', isNoneOf: ['0'], closedOn: 'closedate' },
      creditMemo: { field: 'foreignamountunpaid', isNoneOf: ['0'], closedOn: 'closedate' },
      salesOrder: { field: 'status', isNoneOf: ['C', 'G', 'H'], closedOn: 'closedate' },
      customerPayment: { field: 'status', isNoneOf: ['C', 'R'], closedOn: 'closedate' },
      vendor: null,
      employee: null,
      contact: null,
    });
    expect(findField(types.get('invoice'), 'lines')?.volatile).toBe(false);
    expect(findField(types.get('salesOrder'), 'lines')?.volatile).toBe(true);
    const [invoice, vendor] = [types.get('invoice'), types.get('vendor')];
    if (invoice === undefined || vendor === undefined) throw new Error('missing');
    const scanned = scannedFields(invoice).map(({ name }) => name);
    expect(scanned).toEqual(
      expect.arrayContaining(['foreignamountunpaid', 'status', 'closedate', 'voided', 'entity', 'currency']),
    );
    for (const name of ['tranid', 'foreigntotal', 'lines', 'daysopen', 'lastmodifieddate'])
      expect(scanned).not.toContain(name);
    const ofVendors = scannedFields(vendor).map(({ name }) => name);
    expect(ofVendors).toEqual(['category', 'currency', 'terms', 'subsidiary']);
  });

  it('defines open records by the next field where the first is hidden, and as all records where none is left', async () => {
    account.missing = ['t.foreignamountunpaid'];
    expect((await read()).get('invoice')?.openWhen).toEqual({
      field: 'status',
      isNoneOf: ['B'],
      closedOn: 'closedate',
    });
    account.missing = ['t.foreignamountunpaid', 't.status'];
    const types = await read();
    expect([types.get('invoice')?.openWhen, types.get('salesOrder')?.openWhen]).toEqual(['always', 'always']);
    account.missing = [
      't.balancesearch',
      't.overduebalancesearch',
      't.unbilledorderssearch',
      't.consolbalancesearch',
    ];
    expect((await read()).get('customer')?.openWhen).toBeNull();
  });

  it('names the fields that show a record, and the time of its lines, as far as they can be read', async () => {
    const types = await read();
    const shown = (name: string) => Object.values(types.get(name)?.shownAs ?? {});
    const document = ['tranid', 'entity', 'trandate', 'foreigntotal'];
    for (const name of ['invoice', 'creditMemo', 'salesOrder', 'customerPayment'])
      expect(shown(name), name).toEqual(document);
    expect(['customer', 'vendor', 'item', 'employee', 'contact'].map(shown)).toEqual([
      ['entityid', 'companyname', null, null],
      ['entityid', 'companyname', null, null],
      ['itemid', 'displayname', null, null],
      ['entityid', 'lastname', null, null],
      ['entityid', 'company', null, null],
    ]);
    const lineTimes = [...types].map(([name, { linesModifiedField }]) => [name, linesModifiedField]);
    expect(lineTimes.filter(([, field]) => field !== null)).toEqual([
      ['invoice', 'linelastmodifieddate'],
      ['creditMemo', 'linelastmodifieddate'],
      ['salesOrder', 'linelastmodifieddate'],
      ['customerPayment', 'lastmodifieddate'],
    ]);
    account.missing = [
      't.companyname',
      't.trandate',
      't.closedate',
      'l.linelastmodifieddate',
      'l.previousdoc',
    ];
    const less = await read();
    expect(less.get('customer')?.shownAs).toEqual({
      number: 'entityid',
      name: 'altname',
      date: null,
      amount: null,
    });
    expect(less.get('invoice')).toMatchObject({
      shownAs: { number: 'tranid', name: 'entity', date: null, amount: 'foreigntotal' },
      openWhen: { field: 'foreignamountunpaid', closedOn: null },
      linesModifiedField: null,
    });
    expect(less.get('customerPayment')?.linesModifiedField).toBeNull();
    account.hidden = ['transaction'];
    expect((await read()).get('invoice')).toMatchObject({
      shownAs: { number: null, name: null, date: null, amount: null },
      linesModifiedField: null,
    });
  });

  it('names the record type of a reference only where every value is certain to be of that type', async () => {
    const types = await read();
    const targets = [...types].flatMap(([name, { fields }]) =>
      fields
        .flatMap((field) => [
          field,
          ...(field.fields ?? []).map((line) => ({ ...line, name: `lines.${line.name}` })),
        ])
        .flatMap((field) => (field.target === undefined ? [] : [`${name}.${field.name} ${field.target}`])),
    );
    expect(targets).toEqual([
      'customer.salesrep employee',
      'customer.parent customer',
      'customer.custentity_owner employee',
      'item.parent item',
      'invoice.entity customer',
      'invoice.employee employee',
      'invoice.lines.item item',
      'creditMemo.entity customer',
      'creditMemo.employee employee',
      'creditMemo.lines.item item',
      'salesOrder.entity customer',
      'salesOrder.employee employee',
      'salesOrder.lines.item item',
      'customerPayment.entity customer',
      'employee.supervisor employee',
    ]);
    expect([...types.keys()]).toEqual(expect.arrayContaining(targets.map((target) => target.split(' ')[1])));
  });

  it('describes payments with their applications, which are not syncable where the links are hidden', async () => {
    const lines = findField((await read()).get('customerPayment'), 'lines');
    expect(lines).toMatchObject({ label: 'Applications', syncable: true, volatile: false });
    expect(lines?.fields?.map(({ name }) => name).join(' ')).toBe(
      'previousdoc previoustype linktype foreignamount lastmodifieddate',
    );
    expect(
      wire.seen.some(({ query }) => query.includes('nexttransactionlinelink') && query.includes('l.id')),
    ).toBe(false);
    account.missing = ['l.previousdoc'];
    expect(findField((await read()).get('customerPayment'), 'lines')).toMatchObject({
      syncable: false,
      reason: expect.stringMatching(/previousdoc/i),
    });
    account.hidden = ['nexttransactionlinelink'];
    const payment = (await read()).get('customerPayment');
    expect(findField(payment, 'lines')).toMatchObject({
      syncable: false,
      reason: expect.stringContaining('nexttransactionlinelink'),
    });
    expect(findField(payment, 'foreigntotal')).toMatchObject({ syncable: true });
  });

  it('describes a column without display text as plain text instead of dropping it', async () => {
    const { answer } = wire;
    wire.answer = ({ query }) =>
      /BUILTIN\.DF\(t\.(category|terms)\)/.test(query)
        ? refusesQuery(
            "Search error occurred: Field 'category' for record 'customer' was not found. Reason: NOT_EXPOSED",
          )
        : answer;
    const customer = (await read()).get('customer');
    expect(findField(customer, 'category')).toMatchObject({ type: 'text', syncable: true, reason: null });
    expect(findField(customer, 'terms')).toMatchObject({ type: 'text', syncable: true });
    expect(findField(customer, 'currency')).toMatchObject({ type: 'reference', syncable: true });
  });

  it('marks columns that NetSuite calls unknown, with the reason, after few queries', async () => {
    account.missing = ['t.subsidiary', 't.custbody_po', 'l.units'];
    const types = await read();
    expect(unsyncable(types.get('invoice')).join(' ')).toBe(
      'subsidiary daysopen daysoverduesearch custbody_po',
    );
    expect(findField(types.get('invoice'), 'subsidiary')?.reason).toBe(
      "NetSuite refuses it for this role: Unknown identifier 'SUBSIDIARY'.",
    );
    const { fields: lineFields = [] } = findField(types.get('invoice'), 'lines') ?? {};
    expect(lineFields.filter(({ syncable }) => !syncable)).toMatchObject([{ name: 'units' }]);
    expect(wire.seen.length).toBeLessThan(75);
  });

  it('finds the columns behind a generic server error by bisection, and no others', async () => {
    account.broken = ['t.altname', 't.language'];
    account.missing = ['t.fax'];
    expect(unsyncable((await read()).get('customer'))).toEqual(['altname', 'fax', 'language']);
  });

  it('does not blame a column for a transient failure', async () => {
    let failures = 3;
    const { answer } = wire;
    wire.answer = ({ method, query }) => {
      const counts =
        method === 'POST' && query.includes('FROM customer') && query.includes('entityid') && failures > 0;
      if (!counts) return answer;
      failures -= 1;
      return refuses(500, 'UNEXPECTED_ERROR', 'Error ID: abc');
    };
    expect(unsyncable((await read()).get('customer'))).toEqual([]);
    expect(failures).toBe(0);
  });

  it('does not take one failure of the catalogue or the field list for a refusal', async () => {
    const described = await read();
    const failed = new Set<string>();
    const { answer } = wire;
    wire.answer = (seen) => {
      const request = `${seen.path} ${seen.query}`;
      const isFirst = /metadata-catalog|FROM customfield/.test(request) && !failed.has(request);
      failed.add(request);
      return isFirst ? refuses(500, 'UNEXPECTED_ERROR', 'Error ID: abc') : answer;
    };
    expect(await read()).toEqual(described);
    expect(failed.size).toBeGreaterThan(4);
  });

  it('describes a hidden table without readable fields, and the others completely', async () => {
    account.hidden = ['item'];
    const types = await read();
    expect(types.get('item')).toMatchObject({ source: 'probe' });
    const wrong = types
      .get('item')
      ?.fields.filter(
        ({ syncable, reason }) => syncable || reason?.includes("Record 'item' was not found") !== true,
      );
    expect(wrong).toEqual([]);
    expect(unsyncable(types.get('customer'))).toEqual([]);
  });

  it('keeps the header readable where lines are hidden', async () => {
    account.hidden = ['transactionline'];
    const types = await read();
    expect(unsyncable(types.get('invoice'))).toEqual(['daysopen', 'daysoverduesearch', 'lines']);
    expect(findField(types.get('invoice'), 'lines')?.reason).toMatch(/cannot read lines/);
  });

  it('reads the list of custom fields where the catalogue is refused, and names it as the source', async () => {
    account.catalogue = () => refuses(403, 'INSUFFICIENT_PERMISSION', 'No.');
    const { answer } = wire;
    const customFields = [
      { id: '1', scriptid: 'CUSTENTITY_SCORE', name: 'Score', fieldvaluetype: 'Decimal Number' },
      { id: '2', scriptid: 'custentity_vip', name: 'VIP', fieldvaluetype: 'Check Box' },
      { id: '3', scriptid: 'custentity_note', fieldvaluetype: 'Rich Text' },
    ];
    wire.answer = ({ query }) =>
      query.includes('FROM customfield') && query.includes("LIKE 'custentity%'")
        ? rowsResponse(customFields)
        : answer;
    const customer = (await read()).get('customer');
    expect(customer?.source).toBe('custom field list+probe');
    expect(
      customer?.fields.filter(({ custom }) => custom).map(({ name, label, type }) => [name, label, type]),
    ).toEqual([
      ['custentity_score', 'Score', 'number'],
      ['custentity_vip', 'VIP', 'boolean'],
      ['custentity_note', 'custentity_note', 'text'],
    ]);
  });

  it('continues without custom fields where both sources are refused', async () => {
    account.catalogue = () => sends(403);
    account.hidden = ['customfield'];
    expect((await read()).get('customer')).toMatchObject({ source: 'probe' });
  });

  it.each([
    ['an outage', sends(503), 'down'],
    ['throttling', sends(429), 'throttled'],
    ['a role without access', sends(403), 'forbidden'],
    ['a server error on the simplest query', refuses(500, 'UNEXPECTED_ERROR', 'Error ID: abc'), 'down'],
  ])('rejects for %s, so that the last good description stays', async (_name, refusal, kind) => {
    const { answer } = wire;
    wire.answer = ({ query }) => (query.startsWith('SELECT t.id AS id FROM customer t') ? refusal : answer);
    await expectErpError(read(), kind);
  });

  it('rejects for an outage of the catalogue, so that custom fields do not seem to disappear', async () => {
    account.catalogue = () => sends(503);
    await expectErpError(read(), 'down');
  });
});
