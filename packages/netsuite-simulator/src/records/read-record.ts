// Reads records from SuiteQL's views and converts them to the record service's format: typed JSON without
// null fields, with references and enumerations as objects.
import type { PoolClient } from 'pg';
import { textTypes } from '../database/snapshot.ts';
import type { RoleVisibility } from '../tables/role-visibility.ts';
import { labelColumn, quoteSqlName } from '../tables/table.ts';
import type { Property } from './property.ts';
import type { RecordFilterCondition } from './q-filter.ts';
import type { RecordSublist, RestRecordType } from './record-type.ts';

export type RecordBody = Record<string, unknown>;
/** `origin` is that of the links in the response. */
export type RecordReader = { client: PoolClient; role: RoleVisibility; origin: string };

/** Without their seconds, unlike SuiteQL. */
const UTC_TIME = `'YYYY-MM-DD"T"HH24:MI":00Z"'`;

/** What tells the type's rows apart from the others in its view. */
const kindConditions = ({ transactionType, itemType }: RestRecordType): string[] => [
  ...(transactionType === undefined ? [] : [`type = '${transactionType}'`]),
  ...(itemType === undefined ? [] : [`itemtype = '${itemType}'`]),
];

/** Undefined if there is no such record. `id` is a whole number, possibly negative. */
export async function readRecordBody(
  reader: RecordReader,
  type: RestRecordType,
  id: string,
): Promise<RecordBody | undefined> {
  const [row] = await readRows(
    reader,
    type.table,
    type.properties,
    ['id = $1', ...kindConditions(type)].join(' AND '),
    id,
  );
  return row && writeProperties(type.properties, row, reader.origin, false);
}

/**
 * Which lines are in the sublist `item` of a transaction: what the account adds by itself, such as taxes and
 * the cost of goods, is not.
 */
export const ITEM_LINES = `mainline = 'F' AND taxline = 'F' AND iscogs = 'F' AND expenseaccount IS NULL
  AND COALESCE(transactionlinetype, '') NOT IN ('SHIPPING', 'FXVARIANCE')`;

export async function readRecordLines(
  reader: RecordReader,
  type: RestRecordType,
  id: string,
): Promise<RecordBody[]> {
  const { properties = [], isNegated } = type.lines ?? {};
  const where = `"transaction" = $1 AND ${ITEM_LINES} ORDER BY linesequencenumber`;
  const rows = await readRows(reader, 'transactionline', properties, where, id);
  return rows.map((row) => ({
    links: [],
    ...writeProperties(properties, row, reader.origin, isNegated === false),
  }));
}

export async function readSublist(
  reader: RecordReader,
  { table, where, properties }: RecordSublist,
  id: string,
): Promise<RecordBody[]> {
  const rows = await readRows(reader, table, properties, where, id);
  return rows.map((row) => ({ links: [], ...writeProperties(properties, row, reader.origin, false) }));
}

/**
 * The invoices that a payment or credit memo is applied to, or the payments and credit memos that a refund
 * refunds.
 */
export async function readApplications(
  { client, role, origin }: RecordReader,
  id: string,
): Promise<RecordBody[]> {
  const { rows } = await client.query<{ doc: string; kind: string; name: string; amount: string }>({
    text: `SELECT n.previousdoc AS doc, t.recordtype AS kind, t.trandisplayname AS name, trim_scale(sum(n.foreignamount)) AS amount
      FROM ${role.rowsSql('nexttransactionlinelink')} n JOIN ${role.rowsSql('transaction')} t ON t.id = n.previousdoc WHERE n.nextdoc = $1 AND n.linktype = 'Payment' GROUP BY 1, 2, 3 ORDER BY 1`,
    values: [id],
    types: textTypes,
  });
  return rows.map(({ doc, kind, name, amount }, index) => ({
    links: [],
    line: index + 1,
    apply: true,
    doc: {
      links: [{ rel: 'self', href: `${origin}/services/rest/record/v1/${kind}/${doc}`, method: 'GET' }],
      id: doc,
      refName: name,
    },
    amount: Number(amount),
  }));
}

/**
 * One page of ids and their total. NetSuite's record lists have an arbitrary order that callers can't choose,
 * so ids are shuffled by hash.
 */
export async function listRecordIds(
  { client, role }: Omit<RecordReader, 'origin'>,
  type: RestRecordType,
  { limit, offset }: { limit: number; offset: number },
  condition?: RecordFilterCondition,
): Promise<{ ids: string[]; total: number }> {
  const parts = [...kindConditions(type), ...(condition ? [condition.sql] : [])];
  const from = `${role.rowsSql(type.table)} ${parts.length > 0 ? `WHERE ${parts.join(' AND ')}` : ''}`;
  const values = [...(condition?.values ?? [])];
  const page = await client.query<{ id: string }>({
    text: `SELECT id FROM ${from} ORDER BY md5(id::text) LIMIT ${limit} OFFSET ${offset}`,
    values,
    types: textTypes,
  });
  const count = await client.query<{ total: string }>({
    text: `SELECT count(*) AS total FROM ${from}`,
    values,
    types: textTypes,
  });
  return { ids: page.rows.map((row) => row.id), total: Number(count.rows[0]?.total ?? 0) };
}

type Row = Record<string, string | null>;

async function readRows(
  { client, role }: RecordReader,
  table: string,
  properties: readonly Property[],
  where: string,
  id: string,
): Promise<Row[]> {
  const labelled = labelledColumns(role, table);
  const list = properties.flatMap((property) => {
    const column = quoteSqlName(property.column);
    const value =
      property.kind === 'date-time' ? `to_char(${column} AT TIME ZONE 'UTC', ${UTC_TIME})` : column;
    const label = labelled.has(property.column)
      ? [`${quoteSqlName(labelColumn(property.column))} AS ${quoteSqlName(`${property.name} label`)}`]
      : [];
    return [`${value} AS ${quoteSqlName(property.name)}`, ...label];
  });
  const text = `SELECT ${list.join(', ')} FROM ${role.rowsSql(table)} WHERE ${where}`;
  return (await client.query<Row>({ text, values: [id], types: textTypes })).rows;
}

function labelledColumns(role: RoleVisibility, table: string): ReadonlySet<string> {
  const found = role.find(table);
  return new Set(
    found.kind === 'table'
      ? found.table.columns.flatMap(({ name, label }) => (label === undefined ? [] : [name]))
      : [],
  );
}

function writeProperties(
  properties: readonly Property[],
  row: Row,
  origin: string,
  keepsSign: boolean,
): RecordBody {
  const body: RecordBody = {};
  for (const property of properties) {
    const value = row[property.name];
    if (value !== null && value !== undefined) {
      body[property.name] = writeValue(
        property,
        value,
        row[`${property.name} label`] ?? undefined,
        origin,
        keepsSign,
      );
    }
  }
  return body;
}

function choiceBody({ choices }: Property, id: string): RecordBody {
  const name = choices?.find((choice) => choice.id === id)?.name;
  return { links: [], id, ...(name === undefined ? {} : { refName: name }) };
}

/** A whole list in an answer. */
export const toCollection = (items: RecordBody[]): RecordBody => ({
  count: items.length,
  hasMore: false,
  items,
  offset: 0,
  totalResults: items.length,
});

/** The chosen entries of a multiple select. */
export async function readChoices(
  reader: RecordReader,
  type: RestRecordType,
  property: Property,
  id: string,
): Promise<RecordBody[]> {
  const body = await readRecordBody(reader, { ...type, properties: [property] }, id);
  return (body?.[property.name] as { items: RecordBody[] } | undefined)?.items ?? [];
}

function writeValue(
  property: Property,
  value: string,
  label: string | undefined,
  origin: string,
  keepsSign: boolean,
): unknown {
  switch (property.kind) {
    case 'boolean':
      return value === 'T';
    case 'number':
    case 'integer':
      return property.isNegated && !keepsSign ? 0 - Number(value) : Number(value);
    case 'reference':
      return {
        links: [
          {
            rel: 'self',
            href: `${origin}/services/rest/record/v1/${(property.to ?? '').toLowerCase()}/${value}`,
            method: 'GET',
          },
        ],
        id: value,
        ...(label === undefined ? {} : { refName: label }),
      };
    case 'choices':
      return toCollection(value.split(/, */).map((id) => choiceBody(property, id)));
    case 'enum':
      return { links: [], id: value, refName: label?.split(' : ').at(-1) ?? value };
    default:
      return value;
  }
}
