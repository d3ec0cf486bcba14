// What NetSuite itself says about the lines of records, by aggregate queries: how many there are, what they
// sum to, and which changed. The engine proves with it that no line was lost. So an answer is either exact or
// an error; nothing in it is skipped or repaired.
import type { LineReader, RecordTypeMetadata } from '../../connector.ts';
import type { LineTotals } from '../../source-records.ts';
import { erpError, inconsistentResponse, rethrowHiddenLines } from '../requests/errors.ts';
import { maxRowsPerQuery, type Suiteql, type SuiteqlRow } from '../requests/suiteql.ts';
import type { LinesDefinition, ReadDefinition } from '../types/definition.ts';
import {
  changedCountKey,
  changedLinesQuery,
  countKey,
  latestKey,
  lineTotalsQuery,
  parentKey,
  type TimedLines,
} from '../types/queries.ts';
import { distinctIds, getDefinition, pageLimit } from '../types/read-plan.ts';
import { compareIds, describeValueProblem, isIdText, parseValue } from '../types/values.ts';

/**
 * Doesn't throw itself; its methods reject as `LineReader` says, and with `ErpError` of kind `answer` for an
 * answer that isn't exact.
 */
export function createLineReader(suiteql: Suiteql): LineReader {
  return {
    async totals({ recordType, ids, changedSince = null, signal }) {
      const { definition, lines } = planTotals(recordType);
      const parents = distinctIds(ids);
      if (parents.length === 0) return [];
      const query = lineTotalsQuery(definition, lines, { parents, changedSince });
      const { rows, hasMore } = await suiteql.query(query, maxRowsPerQuery, signal).catch(rethrowHiddenLines);
      if (hasMore) throw inconsistentResponse('The response has totals of more records than were requested');
      assertParents(rows, { afterId: null, requested: new Set(parents) });
      return rows.map((row) => ({
        ...readTotals(row, lines),
        ...(lines.modified !== null && changedSince !== null && { changed: readChangedCount(row) }),
      }));
    },
    async listChanged({ recordType, since, afterId, limit, signal }) {
      const { definition, lines } = planTotals(recordType);
      if (!hasTime(lines))
        throw erpError(
          'query',
          'FIELD_NOT_SYNCABLE',
          `Lines of ${recordType.name} have no modification time of their own`,
        );
      const query = changedLinesQuery(definition, lines, since, afterId);
      const { rows, hasMore } = await suiteql
        .query(query, pageLimit(limit), signal)
        .catch(rethrowHiddenLines);
      return { ids: assertParents(rows, { afterId, requested: null }), hasMore };
    },
  };
}

/** Whether lines have a modification time of their own. */
export const hasTime = (lines: LinesDefinition | null): lines is TimedLines =>
  typeof lines?.modified === 'string';

/**
 * `lines` has only the sums and the modification time that this role can read. Throws a RangeError for a
 * record type without lines, and `ErpError` `FIELD_NOT_SYNCABLE` where the role can't read them.
 */
function planTotals(recordType: RecordTypeMetadata): {
  readonly definition: ReadDefinition;
  readonly lines: LinesDefinition;
} {
  const definition = getDefinition(recordType);
  const { lines } = definition;
  if (lines === null) throw new RangeError(`${recordType.name} has no lines`);
  const field = recordType.fields.find(({ type }) => type === 'lines');
  if (field?.syncable !== true)
    throw erpError('query', 'FIELD_NOT_SYNCABLE', `The lines of ${recordType.name} are not syncable`);
  const readable = new Set((field.fields ?? []).filter(({ syncable }) => syncable).map(({ name }) => name));
  const sums = lines.sums.filter((name) => readable.has(name));
  return {
    definition,
    lines: { ...lines, sums, modified: recordType.linesModifiedField === null ? null : lines.modified },
  };
}

/**
 * The record ids of the rows. Throws `ErpError` unless each is an id that was requested and they ascend from
 * behind `afterId`, none of them twice.
 */
function assertParents(
  rows: readonly SuiteqlRow[],
  { afterId, requested }: { readonly afterId: string | null; readonly requested: ReadonlySet<string> | null },
): string[] {
  let previous = afterId;
  return rows.map((row) => {
    const id = row[parentKey];
    if (typeof id !== 'string' || !isIdText(id))
      throw inconsistentResponse('A row about the lines of a record has no record id');
    if (requested?.has(id) === false)
      throw inconsistentResponse(`The lines of the record ${id} were not requested`);
    if (previous !== null && compareIds(id, previous) <= 0)
      throw inconsistentResponse(`The lines of ${id} come after those of ${previous}`);
    previous = id;
    return id;
  });
}

function readChangedCount(row: SuiteqlRow): number {
  const count = row[changedCountKey];
  if (typeof count !== 'string' || !/^\d{1,9}$/.test(count))
    throw inconsistentResponse(`The number of changed lines of ${String(row[parentKey])} is not a count`);
  return Number(count);
}

function readTotals(row: SuiteqlRow, { sums, modified }: LinesDefinition): LineTotals {
  const id = String(row[parentKey]);
  const count = row[countKey];
  if (typeof count !== 'string' || !/^[1-9]\d{0,8}$/.test(count))
    throw inconsistentResponse(`The number of lines of ${id} is not a count`);
  const createValueError = (name: string, type: 'number' | 'time') =>
    inconsistentResponse(`${name} of the lines of ${id} ${describeValueProblem(row[name], type)}`);
  const parseExactValue = (name: string, type: keyof typeof forms): string | null => {
    const [raw, value] = [row[name], parseValue(row[name], type)];
    if (value !== undefined) return value;
    if (typeof raw === 'string' && forms[type].test(raw)) return raw;
    throw createValueError(name, type);
  };
  return {
    id,
    lines: Number(count),
    sums: Object.fromEntries(sums.map((name) => [name, parseExactValue(name, 'number') ?? '0'])), // the sum of no values is 0
    modifiedAt: modified === null ? null : parseExactValue(latestKey, 'time'),
  };
}

/**
 * What is out of range is passed on as it is: it equals nothing that can be stored, so the record is read,
 * and rejected for the line that has the value.
 */
const forms = {
  number: /^-?[\d.]+(?:E[+-]?\d+)?$/i,
  time: /^-?\d+-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/,
} as const;
