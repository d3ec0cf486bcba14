// Descriptions of record types that the connector doesn't know by name, as it stores them.
import type { FieldMetadata, FieldType, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import type { StoredDefinition } from '../../../src/connectors/netsuite/types/stored-definition.ts';
import { field } from '../../sync/fixture.ts';

type Fields = Readonly<Record<string, FieldType>>;
export const toFields = (fields: Fields): FieldMetadata[] =>
  Object.entries(fields).map(([name, type]) => field(name, type));

const wholeTable: Omit<StoredDefinition, 'table'> = {
  filter: null,
  key: [{ column: 'id', digits: 18 }],
  modified: null,
  parent: null,
  renamed: {},
  lines: null,
  deletedAs: [],
};
const transactionLines = {
  label: 'Lines',
  table: 'transactionline',
  parent: 'transaction',
  key: 'id',
  sums: ['quantity', 'netamount', 'foreignamount'],
  modified: 'linelastmodifieddate',
};

/** The metadata of a record type as it comes out of the database: `definition` was JSON. */
export function describeType(
  name: string,
  fields: Fields,
  definition: Partial<StoredDefinition> & Pick<StoredDefinition, 'table'>,
  lineFields?: Fields,
): RecordTypeMetadata {
  const stored: StoredDefinition = { ...wholeTable, ...definition };
  const described: FieldMetadata[] = toFields({ id: 'integer', ...fields });
  const { modified } = stored;
  return {
    name,
    label: name,
    table: stored.table,
    source: 'test',
    idType: 'integer',
    fields:
      lineFields === undefined ? described : [...described, field('lines', 'lines', toFields(lineFields))],
    openWhen: null,
    modifiedField: modified?.from === 'parent' ? 'parentModified' : (modified?.column ?? null),
    linesModifiedField: lineFields === undefined ? null : (stored.lines?.modified ?? null),
    shownAs: { number: null, name: null, date: null, amount: null },
    definition: JSON.parse(JSON.stringify(stored)),
  };
}

const lineFields: Fields = {
  id: 'integer',
  linesequencenumber: 'integer',
  item: 'reference',
  mainline: 'boolean',
  quantity: 'number',
  netamount: 'number',
  foreignamount: 'number',
  linelastmodifieddate: 'time',
};
export const transactionType = (name: string): RecordTypeMetadata =>
  describeType(
    name,
    { tranid: 'text', trandate: 'date', entity: 'reference', lastmodifieddate: 'time' },
    {
      table: 'transaction',
      filter: { column: 'recordtype', value: name.toLowerCase() },
      modified: { column: 'lastmodifieddate', from: 'own' },
      lines: transactionLines,
      deletedAs: [name.toLowerCase()],
    },
    lineFields,
  );
/** Lines of the ledger; `lineDigits` is how many digits of a line's number an id takes. */
export const postingLine = (lineDigits: number, table = 'transactionaccountingline'): RecordTypeMetadata =>
  describeType(
    'transactionaccountingline',
    {
      transaction: 'integer',
      transactionline: 'integer',
      accountingbook: 'integer',
      account: 'reference',
      amount: 'number',
      parentModified: 'time',
    },
    {
      table,
      key: [
        { column: 'transaction', digits: 11 },
        { column: 'transactionline', digits: lineDigits },
        { column: 'accountingbook', digits: 2 },
      ],
      modified: { column: 'lastmodifieddate', from: 'parent' },
      parent: { table: 'transaction', key: 'id', column: 'transaction' },
    },
  );
