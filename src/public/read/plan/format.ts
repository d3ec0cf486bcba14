// The parameters `format` and `bom` of a list, and `format` of a record: the form of the response, for clients
// that can't set `Accept`.
import { queryMayName } from '../../../core/text/query-text.ts';
import type { ReadableEndpoint } from '../../version/compile.ts';
import { type ReportProblem, single } from './parameters.ts';
import { parseQuery, type QueryParameters } from './request.ts';

export const formats = ['json', 'ndjson', 'csv', 'xlsx'] as const;
export type Format = (typeof formats)[number];
export const formatParameters: readonly string[] = ['format', 'bom'];

const isFormat = (text: string): text is Format => formats.some((format) => format === text);

/** Reports values that are none. `bom` is only for CSV. */
export function checkFormat(
  { takesFormat }: ReadableEndpoint,
  query: QueryParameters,
  report: ReportProblem,
): void {
  if (!takesFormat) return;
  const format = single(query, 'format', report);
  if (format !== undefined && !isFormat(format))
    report('format', 'invalid_value', `"format" must be ${formats.join(', ')}`);
  const bom = single(query, 'bom', report);
  if (bom === undefined) return;
  if (bom !== 'true' && bom !== 'false') report('bom', 'invalid_value', '"bom" must be true or false');
  else if (format !== 'csv') report('bom', 'not_applicable', '"bom" is only for "format=csv"');
}

export const recordFormats = ['json', 'pdf'] as const;
export type RecordFormat = (typeof recordFormats)[number];
const isRecordFormat = (text: string): text is RecordFormat =>
  recordFormats.some((format) => format === text);

/** Reports a value that is none. Only records that can be a document have the parameter. */
export function checkRecordFormat(
  { document }: Pick<ReadableEndpoint, 'document'>,
  query: QueryParameters,
  report: ReportProblem,
): void {
  const format = document === null ? undefined : single(query, 'format', report);
  if (format !== undefined && !isRecordFormat(format))
    report('format', 'invalid_value', `"format" must be ${recordFormats.join(' or ')}`);
}

/** As `chosenFormat`, of a record. */
export function chosenRecordFormat(
  { document }: Pick<ReadableEndpoint, 'document'>,
  queryText: string,
): RecordFormat | undefined {
  if (document === null || !queryMayName(queryText, 'format')) return undefined;
  const [format = '', ...others] = parseQuery(queryText).get('format') ?? [];
  return others.length === 0 && isRecordFormat(format) ? format : undefined;
}

/** What the query asks for; undefined where it leaves that to `Accept`, or is refused by `checkFormat`. */
export function chosenFormat(
  { takesFormat }: ReadableEndpoint,
  queryText: string,
): { readonly format: Format; readonly withMark: boolean } | undefined {
  if (!takesFormat || !queryMayName(queryText, 'format')) return undefined;
  const query = parseQuery(queryText);
  const [format, ...others] = query.get('format') ?? [];
  if (format === undefined || others.length > 0 || !isFormat(format)) return undefined;
  return { format, withMark: query.get('bom')?.[0] === 'true' };
}
