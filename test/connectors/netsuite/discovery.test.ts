// Record types and their columns are found without knowing them by name. What is right is read from the
// account's own tables.
import type { ProfileName } from 'netsuite-simulator';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PROFILE_FIELDS } from '../../../packages/netsuite-simulator/src/profile/custom-fields.ts';
import {
  accountTables,
  UNAVAILABLE_TYPES,
} from '../../../packages/netsuite-simulator/src/tables/all-tables.ts';
import { addCustomFields } from '../../../packages/netsuite-simulator/src/tables/role-visibility.ts';
import type { ColumnKind } from '../../../packages/netsuite-simulator/src/tables/table.ts';
import type { FieldMetadata, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import type { RecordTypeHead } from '../../../src/connectors/discovery.ts';
import { profile as only } from '../../setup/account-profile.ts';
import { useStarted } from '../../setup/use-started.ts';
import { realColumns } from './real-columns.ts';
import { listSyncable, openAccount } from './simulated-account.ts';
import { firstPage, signal } from './wire.ts';

/** The types that are right for a column of the account. */
const rightTypes: Readonly<Record<ColumnKind, readonly FieldMetadata['type'][]>> = {
  integer: ['integer', 'reference', 'list'],
  decimal: ['number'],
  text: ['text', 'list', 'multiselect'],
  flag: ['boolean'],
  date: ['date'],
  datetime: ['time'],
};

/** Tables of the feature OneWorld. */
const hiddenOnSingle = [
  'subsidiary',
  'subsidiarymainaddress',
  'accountingbook',
  'consolidatedexchangerate',
  'customersubsidiaryrelationship',
  'vendorsubsidiaryrelationship',
];

const nine = [
  'customer',
  'item',
  'invoice',
  'creditMemo',
  'salesOrder',
  'customerPayment',
  'vendor',
  'employee',
  'contact',
];

/**
 * The fields of a described type that are columns of the account, and whether their types are those of its
 * columns.
 */
function judge(profile: ProfileName, { name, table, reason, definition, fields }: RecordTypeMetadata) {
  if (reason !== null) return [];
  const renamed: Readonly<Record<string, string>> = Object(definition).renamed ?? {};
  const tables = accountTables(profile).map((each) => addCustomFields(each, PROFILE_FIELDS));
  const judgeColumns = (of: string, some: readonly FieldMetadata[]) =>
    some.flatMap(({ name: field, type, syncable, warning }) => {
      const column = tables
        .find((each) => each.name === of)
        ?.columns.find((known) => known.name === (renamed[field] ?? field));
      const isKey = field === 'id' && 'ownId' in renamed;
      if (column === undefined || !syncable || isKey) return [];
      return [
        {
          field: `${name}: ${of}.${field} is ${type}`,
          isRight: rightTypes[column.kind].includes(type),
          warning,
        },
      ];
    });
  const lines = fields.find(({ type }) => type === 'lines');
  const lineTable = lines?.label === 'Applications' ? 'nexttransactionlinelink' : 'transactionline';
  return [...judgeColumns(table, fields), ...judgeColumns(lineTable, lines?.fields ?? [])];
}

describe.each([only ?? 'single'] as const)('an account of the profile %s', (profile) => {
  const account = useStarted(() => openAccount({ profile }));
  let heads: readonly RecordTypeHead[];
  let types: ReadonlyMap<string, RecordTypeMetadata>;
  let requestsOfHeads: number;

  beforeAll(async () => {
    const before = account.requests();
    heads = (await account.connector.discover?.(signal)) ?? [];
    requestsOfHeads = account.requests() - before;
    const described = await account.connector.metadata(
      signal,
      heads.map(({ name }) => name),
    );
    types = new Map(described.map((type) => [type.name, type]));
  });
  afterEach(() => account.control('POST', '/role', { permissions: null }));
  const forbid = (...permissions: string[]) =>
    account.control('POST', '/role', {
      permissions: Object.fromEntries(permissions.map((name) => [name, false])),
    });

  const getType = (name: string): RecordTypeMetadata => {
    const type = types.get(name);
    if (type === undefined) throw new Error(`no record type ${name}`);
    return type;
  };
  const describeOne = async (name: string): Promise<RecordTypeMetadata | undefined> =>
    (await account.connector.metadata(signal, [name]))[0];
  const findField = (type: RecordTypeMetadata | undefined, name: string) =>
    type?.fields.find((field) => field.name === name);
  const findLineField = (type: RecordTypeMetadata | undefined, name: string) =>
    findField(type, 'lines')?.fields?.find((field) => field.name === name);
  const findWarrantyEnd = async () =>
    findField(await describeOne('customrecord_warranty'), 'custrecord_warranty_until');
  const all = (): RecordTypeMetadata[] => [...types.values()];

  it('lists each record type once, with its family and label, in at most twelve requests', () => {
    expect(requestsOfHeads).toBeLessThanOrEqual(12);
    expect(heads.slice(0, 9).map(({ name }) => name)).toEqual(nine);
    expect(new Set(heads.map(({ name }) => name.toLowerCase())).size).toBe(heads.length);
    const found = new Map(heads.map((head) => [head.name, head]));
    expect(found.get('purchaseOrder')).toEqual({
      name: 'purchaseOrder',
      label: 'Purchase order',
      family: 'transaction',
      custom: false,
      table: null,
      source: 'catalogue',
      syncable: null,
      reason: null,
    });
    const others = {
      customrecord_gift_message: { label: 'Gift Message', family: 'customRecord', custom: true },
      customlist_colour: { label: 'Colour', family: 'customList', custom: true },
      transactionaccountingline: { family: 'posting', source: 'known tables' },
      inventoryItem: { family: 'item', syncable: false, reason: expect.stringContaining('item') },
    };
    for (const [name, head] of Object.entries(others)) expect(found.get(name)).toMatchObject(head);
    expect(found.has('subsidiary')).toBe(profile === 'oneworld');
  });

  it('lists every type of transactions and every table of the account, except choices whose table it cannot know', async () => {
    const names = new Set(heads.map(({ name }) => name.toLowerCase()));
    const transactions = await account.first('distinct recordtype from suiteql.transaction');
    const tables = await account.first(
      "table_name from information_schema.tables where table_schema = 'suiteql' and table_name not in ('transaction', 'deletedrecord', 'dual')",
    );
    const hidden = profile === 'single' ? hiddenOnSingle : [];
    const absent = [...transactions, ...tables].filter((name) => !names.has(name) && !hidden.includes(name));
    expect(absent.sort()).toEqual([
      'map_customer_custentity_interests',
      'map_customrecord_complaint_custrecord_complaint_reasons',
      'map_customrecord_sales_territory_custrecord_territory_channels',
      'map_vendor_custentity_materials',
    ]);
    const interests = findField(await describeOne('map_customer_custentity_interests'), 'parentModified');
    expect(interests).toMatchObject({ type: 'time', syncable: true });
  });

  it('describes what it cannot read with a reason', () => {
    const unreadable = all().filter(({ fields }) => !fields.some(({ syncable }) => syncable));
    expect(unreadable.filter(({ reason }) => reason === null || reason === undefined)).toEqual([]);
    expect(unreadable.filter(({ fields }) => fields.some(({ reason }) => reason === null))).toEqual([]);
    expect(UNAVAILABLE_TYPES.filter((name) => !/cannot read/.test(types.get(name)?.reason ?? ''))).toEqual(
      [],
    );
    expect(getType('shipItem').reason).toMatch(/record type item/);
    expect(getType('nexttransactionlinelink').reason).toMatch(/query source/);
    const readable = all().filter(({ reason }) => reason === null);
    expect(readable.length).toBeGreaterThanOrEqual(70);
    expect(readable.filter(({ reading }) => reading === undefined)).toEqual([]);
  });

  it('reads how a record type is read: its key, its changes and its deletions', () => {
    expect(getType('purchaseOrder')).toMatchObject({
      table: 'transaction',
      family: 'transaction',
      modifiedField: 'lastmodifieddate',
      linesModifiedField: 'linelastmodifieddate',
      reading: { curated: false, changes: 'modified', deletions: 'listed' },
      definition: {
        filter: { column: 'recordtype', value: 'purchaseorder' },
        key: [{ column: 'id' }],
        lines: { key: 'id', parent: 'transaction', sums: ['quantity', 'netamount', 'foreignamount'] },
        deletedAs: ['purchaseorder', 'purchord'],
      },
      shownAs: { number: 'tranid', name: 'entity', date: 'trandate', amount: 'foreigntotal' },
    });
    expect(getType('transactionaccountingline')).toMatchObject({
      modifiedField: 'parentModified',
      reading: { changes: 'parent', deletions: 'compared' },
      definition: { parent: { table: 'transaction', key: 'id', column: 'transaction' }, deletedAs: [] },
    });
    expect(getType('nexus')).toMatchObject({ modifiedField: null, reading: { changes: 'full' } });
    expect(getType('customrecord_warranty')).toMatchObject({
      modifiedField: 'lastmodified',
      definition: { deletedAs: ['customrecord_warranty'] },
    });
    expect(getType('accounttype').definition).toMatchObject({
      key: [{ column: 'internalid' }],
      renamed: { ownId: 'id' },
    });
    expect(findField(getType('accounttype'), 'ownId')).toMatchObject({ type: 'text', syncable: true });
    expect(getType('partner').family).toBe('entity');
    const curated = all().filter(({ reading }) => reading?.curated === true);
    expect(curated.map(({ name }) => name)).toEqual(nine);
  });

  it('can read all that it describes', async () => {
    const readable = all().filter(({ reason }) => reason === null);
    const failed: string[] = [];
    for (const recordType of readable) {
      const fields = listSyncable(recordType);
      const page = await account.connector.readPage({ ...firstPage, recordType, fields, limit: 50 });
      const count = await account.connector.count(recordType, signal);
      if (page.rejected.length > 0 || page.records.length < Math.min(count, 1))
        failed.push(`${recordType.name} ${JSON.stringify(page.rejected[0])}`);
    }
    expect(failed).toEqual([]);
  });

  it('gives columns their types: at least 95 of 100, and no wrong one without a warning', () => {
    const judged = all().flatMap((type) => judge(profile, type));
    const wrong = judged.filter(({ isRight }) => !isRight);
    expect(judged.length).toBeGreaterThan(1500);
    expect(wrong.filter(({ warning }) => warning === undefined)).toEqual([]);
    expect(wrong.length / judged.length, JSON.stringify(wrong, null, 1)).toBeLessThanOrEqual(0.05);
  });

  it('judges types by values where the role may read neither the catalogue nor the list of custom fields', async () => {
    await forbid('recordsCatalog', 'customFields');
    const names = [
      'term',
      'nexus',
      'customrecord_complaint',
      'customrecord_price_agreement',
      'customrecord_delivery_slot',
      'inventoryitemlocations',
    ];
    const described = await account.connector.metadata(signal, names);
    expect(described.map(({ name }) => name)).toEqual(names); // a catalogue that is refused may have any name
    const judged = described.flatMap((type) => judge(profile, type));
    expect(judged.length).toBeGreaterThan(40);
    expect(judged.filter(({ isRight, warning }) => !isRight && warning === undefined)).toEqual([]);
    expect(judged.filter(({ isRight }) => !isRight).length / judged.length).toBeLessThanOrEqual(0.05);
    const complaint = described.find(({ name }) => name === 'customrecord_complaint');
    expect(findField(complaint, 'custrecord_complaint_answered')).toMatchObject({
      type: 'time',
      warning: expect.stringMatching(/follows from the values/),
    });
    expect(findField(complaint, 'custrecord_complaint_reasons')).toMatchObject({ type: 'list' });
    expect(findField(complaint, 'custrecord_complaint_customer')).toMatchObject({ type: 'reference' });
  });

  it('offers or explains every column that real accounts have', async () => {
    const missing: string[] = [];
    for (const [table, names] of Object.entries(realColumns)) {
      const type =
        table === 'transaction'
          ? getType('purchaseOrder')
          : (all().find((one) => one.name.toLowerCase() === table) ?? (await describeOne(table)));
      if (type === undefined && profile === 'single' && hiddenOnSingle.includes(table)) continue;
      const columns = new Set(type?.fields.map(({ name }) => name));
      missing.push(
        ...names
          .split(/\s+/)
          .filter((name) => !columns.has(name))
          .map((name) => `${table}.${name}`),
      );
    }
    expect(missing).toEqual([]);
  });

  it.each<[string, string, object]>([
    ['purchaseOrder', 'entity', { type: 'reference', target: 'vendor' }],
    ['purchaseOrder', 'postingperiod', { target: 'accountingPeriod' }],
    // The catalogue has it as `customer`.
    ['customerRefund', 'entity', { type: 'reference', target: 'customer' }],
    [
      'purchaseOrder',
      'custbody_delivery_slot',
      { target: 'customrecord_delivery_slot', label: 'Delivery Slot' },
    ],
    ['customrecord_price_agreement', 'custrecord_price_item', { target: 'item' }],
    ['invoice', 'custbody_packed_by', { target: 'employee' }],
    // Multiple selects, percentages, and long texts.
    [
      'customer',
      'custentity_interests',
      { type: 'multiselect', syncable: true, entries: 'customlist_colour' },
    ],
    ['customrecord_complaint', 'custrecord_complaint_reasons', { type: 'multiselect', label: 'Reasons' }],
    ['customer', 'custentity_rebate', { type: 'number' }],
    ['customer', 'custentity_history', { type: 'text' }],
    // Only queries have it.
    ['customer', 'custentity3', { type: 'text', label: 'Legacy Number', custom: true, syncable: true }],
  ])('describes %s.%s with its type, label and target', (type, name, expected) => {
    expect(findField(getType(type), name)).toMatchObject(expected);
  });

  it('names the record types of references, also in lines, and only those that the account has', () => {
    expect(findLineField(getType('purchaseOrder'), 'item')).toMatchObject({ target: 'item' });
    const gift = findField(getType('customrecord_gift_message'), 'custrecord_gift_invoice');
    expect(gift?.target).toBeUndefined();
    const names = new Set([...heads.map(({ name }) => name)]);
    const targets = all().flatMap(({ fields }) =>
      fields.flatMap((field) => [field, ...(field.fields ?? [])]).flatMap(({ target }) => target ?? []),
    );
    expect(targets.filter((target) => !names.has(target))).toEqual([]);
  });

  it('finds custom fields that only queries have, on record types that it knows by name, too', async () => {
    const filled = new Set(
      await account.first('distinct recordtype from suiteql.transaction where custbody_batch is not null'),
    );
    const names = ['invoice', 'creditMemo', 'customerPayment', 'purchaseOrder', 'vendorBill'].filter((name) =>
      filled.has(name.toLowerCase()),
    );
    expect(names.length).toBeGreaterThanOrEqual(4);
    for (const name of names)
      expect(findField(getType(name), 'custbody_batch'), name).toMatchObject({
        type: 'integer',
        label: 'Import Batch',
        custom: true,
        syncable: true,
      });
  });

  it('takes the sides of the account on which fields are volatile, and which records are open', () => {
    const volatile = getType('vendorBill')
      .fields.filter((field) => field.volatile && field.syncable)
      .map(({ name }) => name);
    expect(volatile).toEqual(
      expect.arrayContaining(['status', 'closedate', 'foreignamountunpaid', 'voided']),
    );
    expect(getType('vendorBill').openWhen).toEqual({
      field: 'foreignamountunpaid',
      isNoneOf: ['0'],
      closedOn: 'closedate',
    });
    expect(getType('purchaseOrder').openWhen).not.toBeNull();
    expect(getType('account').openWhen).toBeNull();
    expect(findField(getType('purchaseOrder'), 'daysopen')).toMatchObject({
      syncable: false,
      reason: expect.stringContaining('calculates'),
    });
  });

  it('knows amounts that change without a modification time: few rows are compared in each run, posting lines by the daily scan', () => {
    const listVolatile = (name: string) =>
      getType(name).fields.flatMap((field) => (field.volatile ? [field.name] : []));
    expect(getType('transactionaccountingline').openWhen).toBeNull();
    expect(listVolatile('transactionaccountingline')).toEqual(
      expect.arrayContaining(['amountpaid', 'amountunpaid']),
    );
    if (profile === 'single') return;
    expect(getType('customerSubsidiaryRelationship').openWhen).toBe('always');
    expect(listVolatile('customerSubsidiaryRelationship').sort()).toEqual([
      'balance',
      'depositbalance',
      'unbilledorders',
    ]);
  });

  it('finds by bisection a custom field that fails in a select, and names it', async () => {
    await account.control('POST', '/fields', {
      table: 'customrecord_sync_log',
      name: 'custrecord_log_raw',
      type: 'text',
      label: 'Raw',
      refusal: 'fails',
    });
    const type = await describeOne('customrecord_sync_log');
    const refused = type?.fields.filter(({ syncable }) => !syncable) ?? [];
    expect(refused).toMatchObject([
      { name: 'custrecord_log_raw', reason: expect.stringMatching(/unexpected error/i) },
    ]);
    expect(findField(type, 'custrecord_log_rows')).toMatchObject({ syncable: true });
  });

  it('describes renamed and retyped custom fields as they are now', async () => {
    const changed = { type: 'text', label: 'Valid until' };
    const path = '/fields/customrecord_warranty/custrecord_warranty_until';
    await account.control('PATCH', path, changed);
    expect(await findWarrantyEnd()).toMatchObject(changed);
    await account.control('DELETE', path);
    expect(await findWarrantyEnd()).toBeUndefined();
  });

  it('describes a record type that the role may not read, and knows names exactly', async () => {
    const names = [
      'PurchaseOrder',
      'purchaseorder',
      'Customer',
      'nothing',
      'x; DROP TABLE t',
      'customrecord_nothing',
      '',
    ];
    expect(await account.connector.metadata(signal, names)).toEqual([]);
    await forbid('departments', 'transactions');
    expect(await describeOne('department')).toMatchObject({
      reason: expect.stringMatching(/role .*cannot read department/i),
      table: 'department',
    });
    expect(await describeOne('purchaseOrder')).toMatchObject({
      reason: expect.stringMatching(/role .*cannot read/i),
    });
    const lists = await account.connector.discover?.(signal);
    expect(lists?.map(({ name }) => name)).toEqual(expect.arrayContaining(['department', 'purchaseOrder']));
  });

  it('finds transactions and custom records where the catalogue is refused', async () => {
    await forbid('recordsCatalog');
    const found = await account.connector.discover?.(signal);
    expect(found?.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        ...[...nine, 'purchaseorder', 'customrecord_warranty', 'customlist_colour', 'entity'],
      ]),
    );
    const type = await describeOne('purchaseorder');
    expect(type).toMatchObject({ table: 'transaction', reason: null, source: 'probe' });
    expect(findField(type, 'custbody_channel')).toMatchObject({
      type: 'reference',
      label: 'Sales Channel',
      syncable: true,
    });
    expect(await findWarrantyEnd()).toBeUndefined();
  });

  it('describes the nine record types that it knows by name and lists all others in at most sixty requests', async () => {
    const before = account.requests();
    await account.connector.discover?.(signal);
    await account.connector.metadata(signal);
    expect(account.requests() - before).toBeLessThanOrEqual(60);
  });
});
