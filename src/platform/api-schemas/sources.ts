// What a resource over a record type can publish: its synced sources, what fits their types, and a few
// records to look at. The values are masked as those of views are.
import type { RequestCtx } from '../../core/ctx.ts';
import { notFound } from '../../core/errors.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { inTransaction } from '../../db/transaction.ts';
import {
  type Available,
  allRows,
  boundSource,
  type ColumnType,
  fittingTypes,
  getRecordReader,
  isListType,
  type ListType,
  readAvailable,
  toSource,
} from '../../public/index.ts';
import { findDescription } from '../../sync/index.ts';
import { getApiSchemaRow } from './api-schemas.service.ts';

/** Of the newest ids. */
const sampledRecords = 5;

type AnyColumn = Available[string]['columns'][number];
type Column = AnyColumn & { readonly state: Exclude<AnyColumn['state'], 'replaced'> };
type Description = Awaited<ReturnType<typeof findDescription>>;
type DescribedField = NonNullable<Description>['fields'][number];

/** The ERP's label; that of an id whose display text is a source of its own says so. */
function toSourceLabel(source: string, sources: ReadonlySet<string>, described: readonly DescribedField[]) {
  const field = source.replace(/\.name$/, '');
  const label = described.find(({ name }) => name === field)?.label ?? field;
  return sources.has(`${source}.name`) ? `${label} (id)` : label;
}

function describeLines({ lineFields, field }: Column, described: readonly DescribedField[]) {
  if (lineFields === null) return null;
  const fields = described.find(({ name }) => name === field)?.fields ?? [];
  const sources = new Set(lineFields.map(({ name }) => name));
  const types = new Map(lineFields.map(({ name, type }) => [name, type]));
  return lineFields.flatMap(({ name, type }) =>
    isListType(type)
      ? []
      : [
          {
            source: name,
            label: toSourceLabel(name, sources, fields),
            type,
            list: findListType(name, (as) => types.get(as)),
          },
        ],
  );
}

/** The type of the source as a list; null where it has no entries. */
function findListType(source: string, findType: (source: string) => ColumnType | undefined): ListType | null {
  const type = findType(boundSource({ source, as: 'list' }));
  return isListType(type) ? type : null;
}

function describeSources(
  { columns, targets = {}, volatileFields = [] }: Available[string],
  description: Description,
) {
  const shown = columns.filter(
    (column): column is Column => column.state !== 'replaced' && column.field !== 'id',
  );
  const sources = new Set(shown.map(toSource));
  const described = description?.fields ?? [];
  return [...sources].flatMap((source) => {
    // A source that the ERP took back has its former column too; the live one counts.
    const column =
      shown.find((one) => toSource(one) === source && one.state === 'live') ??
      shown.find((one) => toSource(one) === source);
    if (column === undefined || isListType(column.type)) return [];
    return [
      {
        source,
        label: toSourceLabel(source, sources, described),
        type: column.type,
        list: findListType(source, (as) => shown.find((one) => toSource(one) === as)?.type),
        state: column.state,
        target:
          (column.part === 'value' && Object.hasOwn(targets, source) ? targets[source] : undefined) ?? null,
        scopable: column.part === 'value' && !volatileFields.includes(column.field),
        lines: describeLines(column, described),
      },
    ];
  });
}

/** Throws 404 for an unknown version or a type that isn't synced, 503 while its records can't be read. */
export async function listApiSchemaSources(ctx: RequestCtx, id: string, recordType: string) {
  await inTransaction(ctx, (tx) => getApiSchemaRow(tx, ctx, id));
  const available = await readAvailable(ctx);
  const synced = Object.hasOwn(available, recordType) ? available[recordType] : undefined;
  if (synced === undefined) throw notFound('Record type');
  const sources = describeSources(synced, await findDescription(ctx, recordType));
  const columns = sources
    .filter(({ state }) => state === 'live' || state === 'stale')
    .map(({ source }) => ({ name: source, source }));
  const query = { recordType, columns, filters: [], sort: [{ source: 'id', direction: 'desc' as const }] };
  const { unmasked } = ctx.principal.reads;
  const found = synced.hasData
    ? await getRecordReader(ctx).list(
        ctx,
        query,
        { page: 1, pageSize: sampledRecords },
        allRows({ unmasked }),
      )
    : { records: '[]', total: 0 };
  return {
    recordType,
    label: synced.label,
    total: found.total,
    types: fittingTypes.map((one) => ({
      ...{ type: one.type, operators: [...one.operators], lineOperators: [...one.lineOperators] },
      ...{ functions: [...one.functions], masks: [...one.masks] },
    })),
    sources,
    records: parseExact(found.records) as Record<string, unknown>[],
  };
}
