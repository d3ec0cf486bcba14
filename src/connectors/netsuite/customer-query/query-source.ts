// Describes a record type that a customer's query defines. NetSuite runs the query several times: for its
// columns and their values, for what its key and modification time must fulfil, and as a sync will read it.
import { isDeepStrictEqual } from 'node:util';
import type { ErpError, FieldMetadata, RecordTypeMetadata } from '../../connector.ts';
import { type QuerySource, querySourceRefusals, type Reading } from '../../discovery.ts';
import { customPrefixes, readCustomFields } from '../discovery/account-lists.ts';
import { confirmRefusal, nullWhenRefused } from '../discovery/catalogue.ts';
import { namesInQuery, typesByName, withListedTypes } from '../discovery/listed-types.ts';
import { erpError } from '../requests/errors.ts';
import { type QueryRefusal, toQueryRefusal } from '../requests/probe.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlRow } from '../requests/suiteql.ts';
import type { RowSource } from '../types/definition.ts';
import { recordsQuery } from '../types/queries.ts';
import { maxIdDigits, type StoredDefinition } from '../types/stored-definition.ts';
import { compareIds, isIdText } from '../types/values.ts';
import { type Ask, describeFields, isRefusal } from './query-fields.ts';
import { checkQueryText, type QueryText } from './query-text.ts';

const unsuitable = (part: keyof typeof querySourceRefusals, message: string, cause?: unknown): ErpError =>
  erpError('query', querySourceRefusals[part], message, { cause });

/** In NetSuite's words, without the sentence that all of them begin with. */
const refused = (part: keyof typeof querySourceRefusals, what: string, { error }: QueryRefusal): ErpError =>
  unsuitable(
    part,
    `NetSuite refuses ${what}: ${error.message.replace(/^Invalid search query\. Detailed .* follows\. /, '')}`,
    error,
  );

/**
 * The record type of the query, with the fields of its columns; the key is the field `id`. `last`: as the
 * same query was described before. Rejects with `ErpError` of kind `query` and a code of
 * `querySourceRefusals` where NetSuite refuses the query or a column isn't suitable, and as `Ask` does.
 */
export async function describeQuery(
  suiteql: Suiteql,
  source: QuerySource,
  signal: AbortSignal,
  last: RecordTypeMetadata | null,
): Promise<RecordTypeMetadata> {
  const text = checkQueryText(source.query);
  if ('problem' in text) throw unsuitable('query', text.problem);
  assertColumns(text, source);
  const definition = define(text, source);
  const ask = createAsk(suiteql, signal);
  const counted = await ask(`SELECT COUNT(*) AS n FROM ${definition.table} t`, 1);
  if (isRefusal(counted)) throw refused('query', 'the query', counted);
  await assertKey(ask, definition, source);
  if (source.modifiedColumn !== null) await assertTimes(ask, definition, source.modifiedColumn);
  const { keyColumn, modifiedColumn } = source;
  const names = namesInQuery(definition.table);
  const listed =
    names.length === 0
      ? []
      : await nullWhenRefused({ suiteql, signal }, () => readCustomFields(suiteql, customPrefixes, signal));
  const isRetyped =
    listed !== null &&
    last?.listedTypes != null &&
    !isDeepStrictEqual(typesByName(names, listed), last.listedTypes);
  const lastFields = isRetyped ? [] : (last?.fields ?? []);
  const fields = await describeFields(ask, definition, {
    names: text.columns,
    keyColumn,
    modifiedColumn,
    last: lastFields,
  });
  assertReadable(fields, modifiedColumn);
  const described: RecordTypeMetadata = {
    ...{ name: source.name, label: source.label, table: 'query', source: 'query', idType: 'integer' },
    ...{ family: 'query', custom: true, reason: null, reading: describeReading(source) },
    ...{ fields, openWhen: null, modifiedField: modifiedColumn, linesModifiedField: null },
    shownAs: { number: null, name: null, date: null, amount: null },
    definition: { ...definition, filter: null, lines: null, deletedAs: [] } satisfies StoredDefinition,
  };
  return withListedTypes(described, listed);
}

function assertReadable(fields: readonly FieldMetadata[], modifiedColumn: string | null): void {
  if (!fields.some(({ name, syncable }) => syncable && name !== 'id'))
    throw unsuitable('query', 'The query has no column besides its key that can be read');
  const modified = fields.find(({ name }) => name === modifiedColumn);
  if (modifiedColumn !== null && (modified?.type !== 'time' || !modified.syncable))
    throw unsuitable('modifiedColumn', `${modifiedColumn} ${notATime(modified)}`);
}

const notATime = (field: { readonly type: string; readonly reason: string | null } | undefined): string => {
  if (field?.reason != null) return `can't be read: ${field.reason}`;
  return field?.type === 'date'
    ? 'has no time of day in any row, so changes later on the same day would be missed'
    : 'is not a date with a time';
};

const define = ({ sql }: QueryText, { keyColumn, modifiedColumn }: QuerySource): RowSource => ({
  table: `(${sql})`,
  filter: null,
  key: [{ column: keyColumn, digits: maxIdDigits }],
  modified: modifiedColumn === null ? null : { column: modifiedColumn, from: 'own' },
  parent: null,
  renamed: {},
});

const createAsk =
  (suiteql: Suiteql, signal: AbortSignal): Ask =>
  async (query, limit) => {
    try {
      const { rows } = await confirmRefusal({ suiteql, signal }, () => suiteql.query(query, limit, signal));
      return rows;
    } catch (error) {
      return toQueryRefusal(error);
    }
  };

function assertColumns({ columns }: QueryText, { keyColumn, modifiedColumn }: QuerySource): void {
  const offered = `It has ${columns.join(', ')}`.slice(0, 1_000);
  if (!columns.includes(keyColumn))
    throw unsuitable('keyColumn', `The query has no column ${keyColumn}. ${offered}`);
  if (modifiedColumn !== null && !columns.includes(modifiedColumn))
    throw unsuitable('modifiedColumn', `The query has no column ${modifiedColumn}. ${offered}`);
  if (modifiedColumn === keyColumn)
    throw unsuitable('modifiedColumn', 'The key cannot be the time of the last change as well');
  if (keyColumn !== 'id' && columns.includes('id'))
    throw unsuitable(
      'keyColumn',
      `The key ${keyColumn} becomes the field id: give the column id of the query another alias`,
    );
}

const toNumberOrZero = (rows: readonly SuiteqlRow[], name: string): number => Number(rows[0]?.[name] ?? 0);

/**
 * By NetSuite's own count of all rows, and by reading the first page as a sync reads it. The messages name no
 * value and no count: runs and metadata repeat them to people who may not read records.
 */
async function assertKey(ask: Ask, definition: RowSource, { keyColumn }: QuerySource): Promise<void> {
  const key = `t.${keyColumn}`;
  const counted = await ask(
    `SELECT COUNT(*) AS n, COUNT(${key}) AS keyed, COUNT(DISTINCT ${key}) AS different FROM ${definition.table} t`,
    1,
  );
  if (isRefusal(counted)) throw refused('keyColumn', `to count ${keyColumn}`, counted);
  const rows = toNumberOrZero(counted, 'n');
  if (toNumberOrZero(counted, 'keyed') < rows)
    throw unsuitable('keyColumn', `${keyColumn} is empty in some rows`);
  if (toNumberOrZero(counted, 'different') !== rows)
    throw unsuitable('keyColumn', `${keyColumn} is not unique: some rows have the same value`);
  const page = await ask(
    recordsQuery(definition, [{ name: 'id', type: 'integer' }], { afterId: minId }),
    maxRowsPerQuery,
  );
  if (isRefusal(page)) throw refused('keyColumn', `to sort and compare by ${keyColumn} as a number`, page);
  const ids = page.map(({ id }) => String(id));
  if (!ids.every(isIdText))
    throw unsuitable(
      'keyColumn',
      `${keyColumn} has a value that is not an integer of at most ${maxIdDigits} digits`,
    );
  if (ids.some((id, index) => index > 0 && compareIds(ids[index - 1] ?? '', id) >= 0))
    throw unsuitable('keyColumn', `NetSuite sorts ${keyColumn} as text: make it a number with TO_NUMBER`);
}

async function assertTimes(ask: Ask, { table }: RowSource, column: string): Promise<void> {
  const counted = await ask(`SELECT COUNT(*) AS n, COUNT(t.${column}) AS timed FROM ${table} t`, 1);
  if (isRefusal(counted)) throw refused('modifiedColumn', `to count ${column}`, counted);
  if (toNumberOrZero(counted, 'timed') < toNumberOrZero(counted, 'n'))
    throw unsuitable('modifiedColumn', `${column} is empty in some rows`);
}

/** Smaller than every id of a sync. */
const minId = `-${'9'.repeat(maxIdDigits)}`;

const describeReading = ({ modifiedColumn }: QuerySource): Reading => ({
  curated: false,
  changes: modifiedColumn === null ? 'full' : 'modified',
  deletions: 'compared',
  notes: [
    modifiedColumn === null
      ? 'The query has no modification time: each run reads all rows.'
      : `A changed row is found by ${modifiedColumn}. A change that leaves it as it is, also one of a joined record, is found when the row is read again in full, which happens to every row within the period for full reads.`,
    'Rows that the query no longer returns are found by comparing ids.',
  ],
});
