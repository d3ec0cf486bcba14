// What the account holds at a moment, read from its database and written as text by this file's own rules: it
// shares no code with the connector, the sync or the warehouse that it judges.
import type { Pool, PoolClient } from 'pg';
import type { RecordTypeName } from '../plan.ts';

export type Cell = string | null;
/**
 * A field that a version serves: of the header or of lines, by its name in the account, its display text, or
 * the ids of several choices.
 */
export type Field = {
  readonly name: string;
  readonly field: string;
  readonly isLabel: boolean;
  readonly isNumber: boolean;
  readonly isList?: true;
};
/** What is read of a record type: all fields that a version can serve. */
export type Shape<Name extends string = RecordTypeName> = {
  readonly recordType: Name;
  readonly fields: readonly Field[];
  readonly lineFields: readonly Field[] | null;
};
/**
 * Fields that the account doesn't have: what they show is in the value or the display text of one that it
 * has.
 */
const origins: ReadonlyMap<string, string> = new Map([
  ['displayStatus', 'status'],
  ['displayQuantity', 'quantity'],
  ['displayNetAmount', 'netamount'],
  ['displayForeignAmount', 'foreignamount'],
]);
/** The account's own field, also of `lines.displayQuantity`. */
export const toOrigin = (field: string): string => {
  const name = field.replace(/^lines\./, '');
  return field.slice(0, field.length - name.length) + (origins.get(name) ?? name);
};
export const toSource = ({ field, isLabel }: Pick<Field, 'field' | 'isLabel'>): string =>
  isLabel ? `${field}.name` : field;

export type TrueRecord = {
  /** In the order of the shape's fields. */
  readonly cells: readonly Cell[];
  /**
   * Each line as JSON of its cells, in the order of the shape's fields of lines; null for a record type
   * without lines.
   */
  readonly lines: readonly string[] | null;
  /** Its modification time, and those of its lines. */
  readonly modified: string;
  readonly linesModified: string;
  /** As it came from the database: equal text is an equal record. */
  readonly raw: string;
};
export type Truth = {
  readonly at: Date;
  /** Every record, whatever the role may see. */
  readonly records: ReadonlyMap<string, TrueRecord>;
  /** The type of each field that the account has now; those of lines as `lines.memo`. */
  readonly types: ReadonlyMap<string, string>;
};

type Table = { readonly name: string; readonly where: string; readonly modified: string };
type LinesTable = Table & { readonly parent: string; readonly order: string };
/** Kinds of transactions that the connector knows by name. */
const documents = ['invoice', 'creditMemo', 'customerPayment'];
export const isDocument = (recordType: string): boolean => documents.includes(recordType);

const modificationTimes = ['lastmodifieddate', 'lastmodified'];

/** A record type is the table of its name in lower case, or else a kind of transaction. */
async function readHeaderTable(
  client: PoolClient,
  recordType: string,
): Promise<Table & { readonly types: Types }> {
  const name = recordType.toLowerCase();
  const { rows } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
    `suiteql.${name}`,
  ]);
  const table =
    rows[0]?.found === true
      ? { name, where: 'true' }
      : { name: 'transaction', where: `v.recordtype = '${name}'` };
  const types = await readTypes(client, table.name);
  const modified = modificationTimes.find((column) => types.has(column));
  return { ...table, types, modified: modified === undefined ? 'null::timestamptz' : `v.${modified}` };
}
const itemLines: LinesTable = {
  name: 'transactionline',
  parent: 'transaction',
  where: `v.mainline = 'F' and v.taxline = 'F' and v.iscogs = 'F'`,
  order: 'v.linesequencenumber, v.id',
  modified: 'v.linelastmodifieddate',
};
/** Applications have no order of their own, and no modification time. */
const applications: LinesTable = {
  name: 'nexttransactionlinelink',
  parent: 'nextdoc',
  where: 'true',
  order: 'v.previousdoc',
  modified: 'null::timestamptz',
};
function chooseLinesTable(recordType: string): LinesTable {
  if (recordType === 'customerPayment') return applications;
  return isDocument(recordType) ? itemLines : { ...itemLines, where: 'true' };
}
export const areLinesOrdered = (recordType: string): boolean => recordType !== 'customerPayment';

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function buildText(column: string, type: string | undefined): string {
  switch (type) {
    case undefined:
      return 'null';
    case 'bigint':
    case 'numeric':
      return `trim_scale(${column}::numeric)::text`;
    case 'date':
      return `to_char(${column}, 'YYYY-MM-DD')`;
    case 'timestamp with time zone':
      return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
    default:
      return `nullif(${column}, '')`;
  }
}

type Types = ReadonlyMap<string, string>;

/**
 * What the account holds negative, its invoices show as positive; its credit memos show what it holds. The
 * status is shown without the type.
 */
function buildShown(recordType: string, field: string, types: Types): string {
  const origin = toOrigin(field);
  const type = types.get(origin);
  if (origin === 'status')
    return `nullif(regexp_replace(${buildText('v.status__df', types.get('status__df'))}, '^.*? : ', ''), '')`;
  return buildText(recordType === 'creditMemo' ? `v.${quote(origin)}` : `(0 - v.${quote(origin)})`, type);
}

/** The value, or its display text, which is the value itself where the account has none. */
function buildCell(recordType: string, { field, isLabel, isList }: Field, types: Types): string {
  if (origins.has(field)) return buildShown(recordType, field, types);
  if (isList) return `replace(${buildText(`v.${quote(field)}`, types.get(field))}, ', ', ',')`;
  const label = `${field}__df`;
  const name = isLabel && types.has(label) ? label : field;
  return buildText(`v.${quote(name)}`, types.get(name));
}

const buildCells = (recordType: string, fields: readonly Field[], types: Types): string =>
  `array_to_json(array[${fields.map((field) => buildCell(recordType, field, types)).join(', ')}]::text[])::text`;
const buildModified = (expression: string): string =>
  `coalesce(${buildText(expression, 'timestamp with time zone')}, '')`;
const normal = (fields: readonly Field[], cells: readonly Cell[]): Cell[] =>
  cells.map((cell, index) =>
    cell !== null && fields[index]?.isNumber === true ? String(Number(cell)) : cell,
  );

async function readTypes(client: PoolClient, table: string): Promise<Types> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
    [`suiteql.${table}`],
  );
  return new Map(rows.map(({ name, type }) => [name, type]));
}

const shown = (fields: readonly Field[] | null, types: Types, prefix: string): [string, string][] =>
  (fields ?? []).flatMap(({ field }): [string, string][] => {
    const type = types.get(toOrigin(field));
    return type === undefined ? [] : [[`${prefix}${field}`, type]];
  });

type Row = { id: string; cells: string; modified: string };
const parse = (fields: readonly Field[], text: string): Cell[] => normal(fields, JSON.parse(text));

/** The lines of each record as one text. */
async function readLines(
  client: PoolClient,
  { recordType, lineFields }: Shape<string>,
  header: Table,
  types: Types,
): Promise<Map<string, Row>> {
  if (lineFields === null) return new Map();
  const { parent, order, where, name, modified } = chooseLinesTable(recordType);
  const { rows } = await client.query<Row>(
    `select v.${parent}::text as id, string_agg(${buildCells(recordType, lineFields, types)}, e'\n' order by ${order}) as cells,
       string_agg(${buildModified(modified)}, ',' order by ${order}) as modified
     from suiteql.${name} v where ${where} and v.${parent} in (select v.id from suiteql.${header.name} v where ${header.where})
     group by v.${parent}`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

function toRecord(
  { recordType, fields, lineFields }: Shape<string>,
  row: Row,
  ofLines: Row | undefined,
  raw: string,
): TrueRecord {
  const texts = ofLines?.cells.split('\n') ?? [];
  const lines = lineFields === null ? null : texts.map((text) => JSON.stringify(parse(lineFields, text)));
  return {
    cells: parse(fields, row.cells),
    lines: areLinesOrdered(recordType) ? lines : (lines?.sort() ?? null),
    modified: row.modified,
    linesModified: ofLines?.modified ?? '',
    raw,
  };
}

export type Account = { readonly pool: Pool; now(): Date; timeZone(): string };

/**
 * Reads one snapshot of the account as queries see it, without what its role hides: its tables are in the
 * schema `suiteql`.
 */
export async function readAccount<T>(
  account: Account,
  work: (client: PoolClient, now: Date) => Promise<T>,
): Promise<T> {
  const now = account.now();
  const client = await account.pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query(
      `select set_config('search_path', 'suiteql,pg_catalog', true), set_config('TimeZone', $2, true), set_config('netsuite.now', $1, true),
        set_config('netsuite.date_mask', 'FMMM/FMDD/YYYY', true), set_config('netsuite.deleted_time', 'on', true)`,
      [now.toISOString(), account.timeZone()],
    );
    return await work(client, now);
  } finally {
    await client.query('rollback').finally(() => client.release());
  }
}

/** What is as it was in `before` is the same object. Rejects with the errors of the account's database. */
export function readTruth(account: Account, shape: Shape<string>, before: Truth | undefined): Promise<Truth> {
  const { recordType, fields, lineFields } = shape;
  return readAccount(account, async (client, at) => {
    const { types, ...header } = await readHeaderTable(client, recordType);
    const lineTypes =
      lineFields === null
        ? new Map<string, string>()
        : await readTypes(client, chooseLinesTable(recordType).name);
    const { rows } = await client.query<Row>(
      `select v.id::text as id, ${buildCells(recordType, fields, types)} as cells, ${buildModified(header.modified)} as modified
       from suiteql.${header.name} v where ${header.where} order by v.id`,
    );
    const lines = await readLines(client, shape, header, lineTypes);
    const records = rows.map((row): [string, TrueRecord] => {
      const ofLines = lines.get(row.id);
      const raw = [row.cells, row.modified, ofLines?.cells, ofLines?.modified].join('\n');
      const known = before?.records.get(row.id);
      return [row.id, known?.raw === raw ? known : toRecord(shape, row, ofLines, raw)];
    });
    return {
      at,
      records: new Map(records),
      types: new Map([...shown(fields, types, ''), ...shown(lineFields, lineTypes, 'lines.')]),
    };
  });
}

/** Number of lines, and the sums of what is summed. */
export function computeTotals({ lineFields }: Pick<Shape, 'lineFields'>, lines: readonly string[]): string {
  const summed = (lineFields ?? []).flatMap(({ field, isNumber }, index) =>
    isNumber && ['quantity', 'foreignamount', 'netamount'].includes(field) ? [index] : [],
  );
  const parsed = lines.map((line): (string | null)[] => JSON.parse(line));
  const sums = summed.map((index) =>
    parsed.reduce((sum, cells) => sum + Number(cells[index] ?? 0), 0).toFixed(6),
  );
  return [lines.length, ...sums].join();
}
