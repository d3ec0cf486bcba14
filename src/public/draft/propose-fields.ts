// Proposes the fields of an endpoint: those that have values, under names from their labels. Pure.
import type { RecordColumn } from '../../warehouse/columns.ts';
import { boundSource, toSource } from '../version/bind.ts';
import { maskFits } from '../version/operators.ts';
import type { FieldDefinition, LineFieldDefinition } from '../version/schema-document.ts';
import type { ColumnFact } from './column-facts.ts';
import type { DescribedField, DraftSource, Masked, Proposed } from './described.ts';
import { camelCase, fieldName, idsWords, splitWords } from './names.ts';

const maxFields = 500;
const maxScopable = 3;
const noValues: ColumnFact = { filled: 0, distinct: 0, length: 0 };

const personalWords =
  /\b(?:e ?mail|phone|mobile|fax|first name|last name|middle name|surname|birth\w*|address\w*|iban|passport)\b/;
const confidentialWords = /\b(?:cost|margin|salary|wage|credit limit|password|bank account)\b/;

/** Tags by the words of the label; the texts alone are personal. */
function proposeTags({ label, type }: DescribedField): FieldDefinition['tags'] {
  const words = label.toLowerCase().replaceAll(/[^a-z]+/g, ' ');
  if (confidentialWords.test(words)) return ['confidential'];
  const isText = type === 'text' || type === 'reference' || type === 'date';
  return isText && personalWords.test(words) ? ['personal'] : undefined;
}

/**
 * A field that the connector derives to show another has its name with `display` in front: it is proposed
 * under the name of the other.
 */
const derivedName = (field: DescribedField, all: readonly DescribedField[]): DescribedField | undefined =>
  all.find(
    ({ name, syncable }) =>
      syncable && /^display[A-Z]/.test(name) && name.slice('display'.length).toLowerCase() === field.name,
  );

/** The words of the label. A custom field without a label is called by its name without the ERP's prefix. */
const labelWords = ({ name, label, custom }: DescribedField): string[] => {
  const prefix = /^[a-z]+_(?=.)/i.exec(name)?.[0] ?? '';
  return splitWords(custom && label === name ? name.slice(prefix.length) : label);
};

type Part = Pick<LineFieldDefinition, 'source' | 'as' | 'description'> & {
  readonly part: Exclude<RecordColumn['part'], 'lines'>;
  readonly words: readonly string[];
};

/**
 * The parts of a field to propose. A reference whose target is known is its id and the name of what it refers
 * to; other references, and lists, are the text that people know, or their value where there is no text; so
 * is `currency`, the reference that names the currency. Several choices are lists of their ids and names.
 */
function proposeParts(
  field: DescribedField,
  named: DescribedField,
  isFilled: (source: string) => boolean,
  currency?: string,
): Part[] {
  const words = labelWords(named);
  const label = field.label;
  const filled = (...parts: readonly Part[]): Part[] => parts.filter((part) => isFilled(boundSource(part)));
  const own: Part = { source: field.name, part: 'value', words, description: label };
  if (field.type !== 'reference' && field.type !== 'list' && field.type !== 'multiselect') return filled(own);
  const stem = words.at(-1) === 'id' && words.length > 1 ? words.slice(0, -1) : words;
  const text: Part = { source: `${field.name}.name`, part: 'label', words: stem, description: label };
  const id = { ...own, words: field.type === 'list' ? stem : [...stem, 'id'] };
  if (field.type === 'multiselect')
    return filled(
      { ...id, as: 'list', part: 'ids', words: idsWords(stem), description: `${label} (ids)` },
      { ...text, as: 'list', part: 'names', description: `${label} (names in the ERP)` },
    );
  if (field.target === undefined || field.name === currency) return filled(text, id).slice(0, 1);
  return filled(
    { ...id, description: `${label} (id)` },
    { ...text, words: [...stem, 'name'], description: `${label} (name in the ERP)` },
  );
}

const endings: Partial<Record<Part['part'], string>> = { label: 'name', ids: 'ids' };
const sourceName = ({ name }: DescribedField, part: Part['part']): string =>
  camelCase([...splitWords(name), endings[part] ?? ''].filter((word) => word !== ''));

/** Names of a field, the best first. */
function proposeNames(
  { words, part }: Part,
  field: DescribedField,
  { described }: Pick<DraftSource, 'described'>,
): string[] {
  const { shownAs, modifiedField } = described;
  const plain = camelCase(words);
  const fromSource = sourceName(field, part);
  if (field.type === 'boolean')
    return [/^(?:is|has|can)$/.test(words[0] ?? '') ? plain : camelCase(['is', ...words]), fromSource];
  if (field.name === modifiedField) return ['modifiedAt', plain, fromSource];
  const isReference = field.type === 'reference';
  if (field.name === shownAs.number && !isReference) return ['number', plain, fromSource];
  if (field.name === shownAs.name && !isReference) return ['name', plain, fromSource];
  const done = camelCase(words.filter((word) => word !== 'date'));
  if (field.type === 'time') return [done.endsWith('ed') ? `${done}At` : plain, plain, fromSource];
  return [plain, fromSource];
}

/** A derived field takes the place of the field that it shows; the id is in every record already. */
function fieldsToPropose(fields: readonly DescribedField[]) {
  const derived = new Set(fields.flatMap((field) => derivedName(field, fields) ?? []));
  return fields
    .filter((field) => field.syncable && !derived.has(field))
    .map((named) => ({ field: derivedName(named, fields) ?? named, named }));
}

function computeRank({ name }: DescribedField, { shownAs }: DraftSource['described']): number {
  const first = [shownAs.number, shownAs.date, shownAs.name].indexOf(name);
  return first === -1 ? 3 : first;
}

const maskedAs = (field: DescribedField, type: RecordColumn['type'], mask: Masked['mask']): Masked => {
  const tags = proposeTags(field);
  return { ...(mask !== undefined && maskFits(mask, type) && { mask }), ...(tags !== undefined && { tags }) };
};

/**
 * The fields that have values in the sample and whose columns can be read, those that identify a record
 * first. `resources`: the proposed resources by record type. `singular`: the words of the record type.
 */
export function proposeFields(
  draft: DraftSource,
  resources: ReadonlyMap<string, string>,
  singular: readonly string[],
): Proposed[] {
  const { described, available, facts, masks } = draft;
  const taken = new Set<string>();
  const live = (source: string): RecordColumn | undefined => {
    return available.columns.find((column) => column.state === 'live' && toSource(column) === source);
  };
  const getFact = (source: string): ColumnFact => facts.columns.get(live(source)?.column ?? '') ?? noValues;
  const proposed = described.fields.filter(({ name, type }) => name !== 'id' && type !== 'lines');
  const ranked = fieldsToPropose(proposed).sort(
    (a, b) => computeRank(a.field, described) - computeRank(b.field, described),
  );
  const found = ranked.flatMap(({ field, named }) =>
    proposeParts(field, named, (source) => getFact(source).filled > 0, available.currency).flatMap(
      (part): Proposed[] => {
        const column = live(boundSource(part));
        if (column === undefined) return [];
        const fact = getFact(boundSource(part));
        const masked = maskedAs(field, column.type, masks.get(part.source));
        const isTarget = part.part === 'value' && field.target !== undefined;
        const definition: FieldDefinition = {
          name: fieldName(proposeNames(part, field, draft), camelCase(singular), taken),
          source: part.source,
          description: part.description,
          ...(part.as !== undefined && { as: part.as }),
          ...masked,
        };
        const refersTo = (isTarget && resources.get(field.target ?? '')) || null;
        return [{ definition, field, part: part.part, fact, empty: facts.records - fact.filled, refersTo }];
      },
    ),
  );
  const lines = described.fields.filter(({ type, syncable }) => type === 'lines' && syncable);
  return [
    ...withScopes(found).slice(0, maxFields - lines.length),
    ...lines.flatMap((field) => proposeLines(field, draft, taken, live('lines'))),
  ];
}

/** A scopable field takes two indexes: references to proposed resources come first, custom ones last. */
function withScopes(fields: readonly Proposed[]): Proposed[] {
  const computePenalty = ({ refersTo, field }: Proposed): number =>
    (refersTo === null ? 2 : 0) + (field.custom ? 1 : 0);
  const candidates = fields.filter(
    ({ part, field, definition }) =>
      part === 'value' && field.target !== undefined && !field.volatile && definition.mask === undefined,
  );
  const chosen = new Set(
    candidates.sort((a, b) => computePenalty(a) - computePenalty(b)).slice(0, maxScopable),
  );
  return fields.map((each) =>
    chosen.has(each) ? { ...each, definition: { ...each.definition, scopable: true } } : each,
  );
}

function proposeLines(
  field: DescribedField,
  { facts, masks }: DraftSource,
  taken: Set<string>,
  column: RecordColumn | undefined,
) {
  if (column === undefined || facts.lines === 0) return [];
  const lineTaken = new Set<string>();
  const getFact = (source: string): ColumnFact => facts.columns.get(`${column.column}.${source}`) ?? noValues;
  const fields = fieldsToPropose(field.fields ?? []).flatMap(({ field: line, named }) =>
    proposeParts(line, named, (source) => getFact(source).filled > 0).flatMap(
      (part): LineFieldDefinition[] => {
        const type = column.lineFields?.find(({ name }) => name === boundSource(part))?.type;
        if (type === undefined) return [];
        const name = fieldName([camelCase(part.words), sourceName(line, part.part)], 'line', lineTaken);
        const { source, as, description } = part;
        return [
          {
            name,
            source,
            description,
            ...(as !== undefined && { as }),
            ...maskedAs(line, type, masks.get(`lines.${part.source}`)),
          },
        ];
      },
    ),
  );
  if (fields.length === 0) return [];
  const name = fieldName([camelCase(splitWords(field.label)), 'lines'], 'record', taken);
  const definition: FieldDefinition = {
    name,
    source: 'lines',
    description: field.label,
    fields: fields.slice(0, maxFields),
  };
  return [{ definition, field, part: 'lines' as const, fact: noValues, empty: 0, refersTo: null }];
}
