// The fields of a customer's query, with types that follow from values: some of them suggest a type, and
// NetSuite confirms it over all rows, so that it depends on the rows that exist, not on those that were read.
import type { FieldMetadata } from '../../connector.ts';
import { dateText } from '../discovery/column-types.ts';
import { type ProbeQuery, probeColumns, type QueryRefusal } from '../requests/probe.ts';
import { maxRowsPerQuery, type SuiteqlRow } from '../requests/suiteql.ts';
import type { RowSource } from '../types/definition.ts';
import { isColumnName, probeQuery, type SuiteqlColumn } from '../types/queries.ts';

/** NetSuite's rows, or its refusal of the query. Rejects for an outage, a refused login, or an abort. */
export type Ask = (query: string, limit: number) => Promise<readonly SuiteqlRow[] | QueryRefusal>;
export const isRefusal = (answer: readonly SuiteqlRow[] | QueryRefusal): answer is QueryRefusal =>
  'error' in answer;

export type QueryColumns = {
  /** The columns of the query, the key among them. */
  readonly names: readonly string[];
  readonly keyColumn: string;
  /** Has times, also while the query returns no rows. */
  readonly modifiedColumn: string | null;
  /** As last described: a type that holds all values stays, so that it doesn't alternate with the rows. */
  readonly last: readonly FieldMetadata[];
};

/** Parts of every response, and the name of the field with a record's lines. */
const reservedNames = new Set(['links', 'lines']);

/** The key first, as `id`. A column that can't be read is a field with the reason. Rejects as `Ask` does. */
export async function describeFields(
  ask: Ask,
  source: RowSource,
  columns: QueryColumns,
): Promise<FieldMetadata[]> {
  const { names, keyColumn, modifiedColumn, last } = columns;
  const others = names.filter((name) => name !== keyColumn);
  const readable = others.filter((name) => unusable(name) === null);
  const found = await findTypes(ask, source, readable);
  const isCertain = ({ type, syncable, warning }: FieldMetadata): boolean =>
    syncable && (type !== 'text' || warning === undefined);
  const lastTypes = new Map(last.filter(isCertain).map(({ name, type }) => [name, type]));
  const findType = (name: string): ColumnType | undefined =>
    keepType(lastTypes.get(name), found.get(name)) ?? (name === modifiedColumn ? 'time' : undefined);
  const types = new Map(others.map((name) => [name, findType(name)]));
  const runProbe: ProbeQuery<SuiteqlColumn> = async (asked) => {
    const answer = await ask(probeQuery(source, [{ name: 'id', type: 'integer' }, ...asked]), 1);
    return isRefusal(answer) ? answer : null;
  };
  const reasons = await probeColumns(
    runProbe,
    readable.map((name) => ({ name, type: types.get(name) ?? 'text' })),
  );
  const id = { ...plain, name: 'id', label: 'Id', type: 'integer' as const };
  return [id, ...others.map((name) => toField(name, types.get(name), reasons.get(name) ?? unusable(name)))];
}

const plain = { custom: false, syncable: true, volatile: false, reason: null };

const unusable = (name: string): string | null => {
  if (reservedNames.has(name)) return 'The name has another meaning: give the column another alias';
  return isColumnName(name)
    ? null
    : 'Give the column an alias of letters, digits and _ that begins with a letter';
};

type ColumnType = SuiteqlColumn['type'];

/** The types that hold all values of a type. */
const widerTypes: Partial<Record<ColumnType, readonly ColumnType[]>> = {
  integer: ['number', 'text'],
  number: ['text'],
  boolean: ['text'],
  date: ['time'],
};

/** The last type if it holds all values, otherwise the found one; undefined if there never was a value. */
function keepType(last: ColumnType | undefined, found: ColumnType | undefined): ColumnType | undefined {
  if (last === undefined || found === undefined) return found ?? last;
  return widerTypes[found]?.includes(last) === true ? last : found;
}

function toField(name: string, type: ColumnType | undefined, reason: string | null): FieldMetadata {
  const field = { ...plain, name, label: name, type: type ?? 'text', syncable: reason === null, reason };
  if (reason !== null) return field;
  if (type === 'text') return { ...field, unconfirmed: 'values' };
  return {
    ...field,
    ...(type === undefined && { unconfirmed: 'empty' as const }),
    warning:
      type === undefined
        ? 'It is empty in all rows, so its type is not known'
        : 'The type follows from the values',
  };
}

/** What the values look like that were read. */
type Guess = { readonly name: string; readonly kind: keyof typeof kinds };

/** How each kind looks, its type, the wider type, and the condition for a value that needs the wider one. */
const kinds = {
  // Without leading zeros, which a number doesn't keep.
  number: {
    form: /^-?(?:0|[1-9]\d{0,40})?(?:\.\d{1,40})?$/,
    types: ['integer', 'number'],
    exceeds: (column: string) => `${column} <> ROUND(${column}) OR ABS(${column}) >= 1000000000000000000`,
  },
  moment: {
    form: dateText,
    types: ['date', 'time'],
    exceeds: (column: string) => `${column} <> TRUNC(${column})`,
  },
  flag: {
    form: /^[TF]$/,
    types: ['boolean', 'text'],
    exceeds: (column: string) => `${column} NOT IN ('T', 'F')`,
  },
} as const;
const kindNames = ['number', 'moment', 'flag'] as const;

/**
 * Types by column; columns that are empty in all rows have none. Several requests where some columns are
 * empty in most rows.
 */
async function findTypes(
  ask: Ask,
  source: RowSource,
  names: readonly string[],
): Promise<ReadonlyMap<string, ColumnType>> {
  const values = await readValues(ask, source, names);
  const guesses = [...values].flatMap(([name, texts]): Guess[] => {
    const kind = kindNames.find((candidate) => texts.every((text) => kinds[candidate].form.test(text)));
    return kind === undefined ? [] : [{ name, kind }];
  });
  const confirmed = await confirm(ask, source, guesses);
  return new Map([...values.keys()].map((name) => [name, confirmed.get(name) ?? 'text']));
}

/** Some values of each column that has any. */
async function readValues(
  ask: Ask,
  { table }: RowSource,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const values = new Map<string, readonly string[]>();
  for (let rest = names; rest.length > 0; rest = rest.filter((name) => !values.has(name))) {
    const present = rest.map((name) => `t.${name} IS NOT NULL`).join(' OR ');
    const rows = await ask(
      `SELECT ${rest.map((name) => `t.${name}`).join(', ')} FROM ${table} t WHERE ${present}`,
      maxRowsPerQuery,
    );
    if (isRefusal(rows)) throw rows.error;
    for (const name of rest) {
      const texts = rows.map((row) => row[name]).filter((value) => typeof value === 'string' && value !== '');
      if (texts.length > 0) values.set(name, texts.map(String));
    }
    if (rest.every((name) => !values.has(name))) break;
  }
  return values;
}

/**
 * By NetSuite's own arithmetic over all rows: it refuses to round what is neither a number nor a date, which
 * then has no type here.
 */
async function confirm(
  ask: Ask,
  { table }: RowSource,
  guesses: readonly Guess[],
): Promise<ReadonlyMap<string, ColumnType>> {
  const exceeding = new Map<string, unknown>();
  const count = ({ name, kind }: Guess, index: number): string =>
    `, SUM(CASE WHEN ${kinds[kind].exceeds(`t.${name}`)} THEN 1 ELSE 0 END) AS c${index}`;
  const runProbe: ProbeQuery<Guess> = async (asked) => {
    const answer = await ask(`SELECT COUNT(*) AS n${asked.map(count).join('')} FROM ${table} t`, 1);
    if (isRefusal(answer)) return answer;
    for (const [index, { name }] of asked.entries()) exceeding.set(name, answer[0]?.[`c${index}`]);
    return null;
  };
  const refused = await probeColumns(runProbe, guesses);
  return new Map(
    guesses
      .filter(({ name }) => !refused.has(name))
      .map(({ name, kind }) => [name, kinds[kind].types[exceeding.get(name) === '0' ? 0 : 1]] as const),
  );
}
