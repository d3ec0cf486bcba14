// Proposes the endpoints of a version for record types that are synced: the start of a draft. Saves nothing.
import type { RecordFamily } from '../../connectors/discovery.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid } from '../../core/errors.ts';
import { createSuggestions } from '../../core/text/nearest-name.ts';
import { inTransaction } from '../../db/transaction.ts';
import {
  type Available,
  type ColumnType,
  type DraftSource,
  draftDocument,
  isListType,
  type LineField,
  readAvailable,
  readRecordTypeFacts,
  type SchemaDocument,
} from '../../public/index.ts';
import { readRecordTypes, type StoredRecordType } from '../../sync/index.ts';
import type { DraftFrom } from './api-schemas.schemas.ts';
import * as store from './api-schemas.store.ts';

/** Sources that published or deprecated versions mask, with the newest mask; of lines as `lines.<source>`. */
async function readMasks(ctx: RequestCtx, recordType: string): Promise<DraftSource['masks']> {
  const published = await inTransaction(ctx, (tx) =>
    store.listEndpointsOfRecordType(tx, ctx.organizationId, recordType),
  );
  const fields = published.flatMap(({ endpoint }) =>
    endpoint.fields.flatMap((field) => [
      field,
      ...(field.fields ?? []).map((line) => ({ source: `${field.source}.${line.source}`, mask: line.mask })),
    ]),
  );
  // The newest comes first, and the last entry of a key counts.
  return new Map(
    fields.flatMap(({ source, mask }) => (mask === undefined ? [] : [[source, mask] as const])).reverse(),
  );
}

type Described = DraftSource['described'];
type DescribedField = Described['fields'][number];

/** Without the entries of multiselects, which only descriptions say. */
const described = (
  name: string,
  type: ColumnType | 'reference',
  lineFields: readonly LineField[] | null,
): DescribedField[] => {
  if (type !== 'reference' && isListType(type)) return [];
  const fields = lineFields?.flatMap((line) => described(line.name, line.type, null));
  return [
    {
      name,
      label: name,
      type,
      syncable: true,
      volatile: false,
      custom: false,
      ...(fields !== undefined && { fields }),
    },
  ];
};

/** Where no description is stored: the columns alone, by the names of their fields. */
function describeColumns(name: string, columns: Available[string]['columns']): Described {
  const isLabel = ({ part }: { part: string }): boolean => part === 'label';
  const labelled = new Set(columns.filter(isLabel).map(({ field }) => field));
  const fields = columns
    .filter((column) => column.part === 'value' || column.part === 'lines')
    .flatMap(({ field, type, lineFields }) =>
      described(field, labelled.has(field) ? 'reference' : type, lineFields),
    );
  return {
    name,
    label: name,
    fields,
    modifiedField: null,
    shownAs: { number: null, name: null, date: null },
  };
}

function findProblem(
  name: string,
  path: string,
  known: ReadonlyMap<string, StoredRecordType>,
  available: Available,
  suggest: ReturnType<typeof createSuggestions>,
): ErrorDetail | undefined {
  const synced = Object.hasOwn(available, name) ? available[name] : undefined;
  if (synced?.hasData === true) return undefined;
  if (synced !== undefined || known.has(name))
    return { path, code: 'not_synced', message: `No complete sync of ${name} has been published yet` };
  return {
    path,
    code: 'unknown_record_type',
    message: `No synced record type has this name.${suggest(name, () => Object.keys(available))}`,
  };
}

async function readSource(
  ctx: RequestCtx,
  name: string,
  available: Available,
  known: ReadonlyMap<string, StoredRecordType>,
) {
  const synced = available[name];
  if (synced === undefined) return [];
  const described: Partial<Described> & Pick<Described, 'name' | 'label' | 'fields'> =
    known.get(name)?.description ?? describeColumns(name, synced.columns);
  const live = synced.columns.filter(({ state }) => state === 'live');
  const facts = (await readRecordTypeFacts(ctx, name, live)) ?? { records: 0, lines: 0, columns: new Map() };
  // What an older version of this service stored has no `shownAs` and no `modifiedField`.
  const { shownAs = { number: null, name: null, date: null }, modifiedField = null } = described;
  return [
    {
      described: { ...described, shownAs, modifiedField },
      available: synced,
      facts,
      masks: await readMasks(ctx, name),
    },
  ];
}

/** As people use an ERP: documents, those they are made out to, and what is on their lines come first. */
const familyOrder: readonly (RecordFamily | undefined)[] = [
  'transaction',
  'customTransaction',
  'entity',
  'item',
  'customRecord',
];

/** Of the same family, what more of the others refer to comes first. */
function sortByUse(sources: readonly DraftSource[], known: ReadonlyMap<string, StoredRecordType>) {
  const rank = (name: string): number => {
    const at = familyOrder.indexOf(known.get(name)?.head.family);
    return at === -1 ? familyOrder.length : at;
  };
  const countReferences = (name: string): number =>
    sources.filter(
      ({ described }) => described.name !== name && described.fields.some(({ target }) => target === name),
    ).length;
  return sources
    .map((source) => ({ source, name: source.described.name }))
    .sort((a, b) => rank(a.name) - rank(b.name) || countReferences(b.name) - countReferences(a.name))
    .map(({ source }) => source);
}

/**
 * A definition with one endpoint per record type, in the order that people use them, valid for saving and
 * publishing as it is. It is the same for as long as the records are. A record type without any value has no endpoint. Throws 422 for record
 * types that aren't known or have no synced records yet.
 */
export async function draftFromRecordTypes(
  ctx: RequestCtx,
  { recordTypes }: DraftFrom,
): Promise<SchemaDocument> {
  const names = [...new Set(recordTypes)];
  const [available, known] = await Promise.all([readAvailable(ctx), readRecordTypes(ctx, names)]);
  const suggest = createSuggestions();
  const problems = recordTypes.flatMap(
    (name, index) => findProblem(name, `recordTypes[${index}]`, known, available, suggest) ?? [],
  );
  if (problems.length > 0) throw invalid('A draft needs record types with synced records', problems);
  const sources: DraftSource[] = [];
  for (const name of names) sources.push(...(await readSource(ctx, name, available, known)));
  return draftDocument(sortByUse(sources, known), available);
}
