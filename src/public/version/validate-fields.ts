// Rules of the fields of an endpoint: names, sources, forms, masks and tags.
import { type ColumnType, isListType, isNumeric, type RecordColumn } from '../../warehouse/columns.ts';
import { type AvailableRecordType, boundSource, type IndexedRecordType, toSource } from './bind.ts';
import { type Report, reportDuplicates } from './definition-problems.ts';
import { maskFits, toSuffix } from './operators.ts';
import {
  type EndpointDefinition,
  type FieldDefinition,
  type LineFieldDefinition,
  operators,
} from './schema-document.ts';

const fieldName = /^[a-z][A-Za-z0-9_]{0,62}$/;
const reserved = new Set('id page pagesize sort order fields since limit draft format bom'.split(' '));
const suffixes = operators.map(toSuffix).filter((suffix) => suffix !== '');

/** Parameters only of endpoints that declare them, whose fields can't have these names. */
const declaredParameters = ({ search, or, relations }: EndpointDefinition): ReadonlyMap<string, string> =>
  new Map([
    ...(search === undefined ? [] : [['q', 'search'] as const]),
    ...(or === undefined ? [] : [['or', 'or'] as const]),
    ...(relations === undefined ? [] : [['expand', 'relations'] as const]),
  ]);

export function checkFieldNames(endpoint: EndpointDefinition, path: string, report: Report): void {
  const names = endpoint.fields.map(({ name }) => name);
  const known = new Map(names.map((name) => [name.toLowerCase(), name]));
  const parameters = declaredParameters(endpoint);
  const lists = new Set(endpoint.fields.flatMap((field) => (field.as === 'list' ? [field.name] : [])));
  for (const [index, name] of names.entries()) {
    const at = `${path}.fields[${index}].name`;
    checkFieldName(name, at, report);
    if (reserved.has(name.toLowerCase())) report('save', at, 'reserved_name', `"${name}" is reserved`);
    const declaredBy = parameters.get(name.toLowerCase());
    if (declaredBy !== undefined)
      report(
        'save',
        at,
        'reserved_name',
        `"${name}" is the name of a parameter of this endpoint, because it declares "${declaredBy}"`,
      );
    for (const suffix of suffixes) {
      if (!name.toLowerCase().endsWith(suffix)) continue;
      const stem = name.slice(0, -suffix.length).toLowerCase();
      const other = stem === 'id' ? 'id' : known.get(stem);
      if (other !== undefined && (suffix !== toSuffix('all') || lists.has(other)))
        report(
          'save',
          at,
          'clashes_with_filter',
          `"${name}" is also the name of the ${suffix} filter of the field "${other}"`,
        );
    }
  }
  reportDuplicates(names, (index) => `${path}.fields[${index}].name`, 'field name', report);
}

function checkFieldName(name: string, path: string, report: Report): void {
  const rule = 'a lower-case letter, then letters, digits or underscores';
  if (!fieldName.test(name))
    report('save', path, 'illegal_name', `A field name must have 1 to 63 characters: ${rule}`);
}

const stillLoading = [
  'still_loading',
  'This field is still loading. It can be published after the next complete run.',
] as const;

/** Why a column in this state can't be published. */
const unpublishable: Partial<Record<RecordColumn['state'], readonly [code: string, message: string]>> = {
  loading: stillLoading,
  returned: stillLoading,
  vanished: ['vanished', 'This field no longer exists in the ERP'],
  stale: ['stale', "This field can't be read in the ERP at the moment. See the stale fields of its sync."],
};

function checkForm(field: FieldDefinition, path: string, report: Report): void {
  const isLines = field.source === 'lines';
  if (isLines && field.fields === undefined)
    report(
      'save',
      `${path}.fields`,
      'lines_without_fields',
      'The source "lines" requires the list of its fields to publish',
    );
  if (!isLines && field.fields !== undefined)
    report('save', `${path}.fields`, 'fields_without_lines', 'Only the source "lines" may have "fields"');
  if (isLines && field.as !== undefined)
    report('save', `${path}.as`, 'not_a_number', '"as" applies only to number fields');
  if (isLines && field.mask !== undefined)
    report(
      'save',
      `${path}.mask`,
      'mask_misfits',
      'Lines as a whole cannot be masked; mask their fields instead',
    );
  if (field.as === 'list' && field.scopable)
    report('save', `${path}.scopable`, 'not_scopable', 'Row scopes cannot name lists');
  if (isLines && field.scopable)
    report('save', `${path}.scopable`, 'not_scopable', 'Row scopes cannot name lines');
}

function checkLineFields({ fields = [] }: FieldDefinition, path: string, report: Report): void {
  const names = fields.map(({ name }) => name);
  for (const [index, line] of fields.entries()) {
    checkFieldName(line.name, `${path}.fields[${index}].name`, report);
    checkTags(line, `${path}.fields[${index}]`, report);
  }
  reportDuplicates(names, (index) => `${path}.fields[${index}].name`, 'field name', report);
}

export function checkField(
  field: FieldDefinition,
  path: string,
  recordType: IndexedRecordType | undefined,
  report: Report,
): void {
  const isLines = field.source === 'lines';
  checkForm(field, path, report);
  checkTags(field, path, report);
  checkLineFields(field, path, report);
  if (recordType === undefined) return;
  const column = findColumn(field, path, recordType, report);
  if (column === undefined) return;
  const problem = unpublishable[column.state];
  if (problem !== undefined) report('publish', `${path}.source`, ...problem);
  if (!isLines) {
    checkWrittenAs(field.as, column.type, `${path}.as`, report);
    checkMask(field.mask, column.type, `${path}.mask`, report);
    if (field.scopable) checkScopable(column, recordType, `${path}.scopable`, report);
  }
  checkLineSources(field, path, column, recordType.lineTypes, report);
}

/** Undefined after a report if the source isn't synced. A multiselect's own value is its list of entries. */
function findColumn(field: FieldDefinition, path: string, recordType: IndexedRecordType, report: Report) {
  const { source, as } = field;
  const column = recordType.bySource.get(boundSource(field));
  if (column !== undefined && isListType(column.type) === (as === 'list')) return column;
  if (as === 'list' && recordType.bySource.has(source))
    report('publish', `${path}.as`, 'not_a_list', notAList(source, recordType.bySource));
  else {
    const known = () =>
      recordType.columns.filter(({ state, type }) => state !== 'replaced' && !isListType(type)).map(toSource);
    report(
      'publish',
      `${path}.source`,
      'unknown_source',
      `${recordType.label} has no synced field of this name.`,
      { wanted: source, known },
    );
  }
  return undefined;
}

const notAList = (source: string, known: ReadonlyMap<string, unknown>): string =>
  source.endsWith('.name') && known.has(boundSource({ source: source.replace(/\.name$/, ''), as: 'list' }))
    ? "The names of the entries can't be read in the ERP. Publish their ids."
    : 'Only fields with several choices can be written as lists';

function checkLineSources(
  field: FieldDefinition,
  path: string,
  column: RecordColumn,
  types: IndexedRecordType['lineTypes'],
  report: Report,
): void {
  if (column.type !== 'lines') return;
  for (const [index, line] of (field.fields ?? []).entries()) {
    const at = `${path}.fields[${index}]`;
    const type = types.get(boundSource(line));
    if (line.as === 'list' && type === undefined && types.has(line.source)) {
      report('publish', `${at}.as`, 'not_a_list', notAList(line.source, types));
      continue;
    }
    if (type !== undefined && isListType(type) === (line.as === 'list')) {
      checkWrittenAs(line.as, type, `${at}.as`, report);
      checkMask(line.mask, type, `${at}.mask`, report);
      continue;
    }
    report('publish', `${at}.source`, 'unknown_source', 'The lines have no synced field of this name.', {
      wanted: line.source,
      known: () => [...types].flatMap(([name, one]) => (isListType(one) ? [] : [name])),
    });
  }
}

function checkWrittenAs(as: FieldDefinition['as'], type: ColumnType, path: string, report: Report): void {
  if (as !== undefined && as !== 'list' && !isNumeric(type))
    report('publish', path, 'not_a_number', `"as" applies only to number fields; this is a ${type} field`);
}

function checkMask(mask: FieldDefinition['mask'], type: ColumnType, path: string, report: Report): void {
  if (mask !== undefined && !maskFits(mask, type))
    report('publish', path, 'mask_misfits', `The mask "${mask}" cannot be used with a ${type} field`);
}

function checkScopable(
  { field, part }: RecordColumn,
  { volatileFields = [] }: AvailableRecordType,
  path: string,
  report: Report,
): void {
  if (part === 'label')
    report('publish', path, 'not_scopable', 'Row scopes cannot name labels; publish the field itself');
  if (volatileFields.includes(field))
    report(
      'publish',
      path,
      'not_scopable',
      "Row scopes cannot name a field that changes without the record's modification time",
    );
}

const checkTags = ({ tags = [] }: LineFieldDefinition, path: string, report: Report): void =>
  reportDuplicates(tags, (index) => `${path}.tags[${index}]`, 'tag', report);

/** A source that is masked is masked under every name of the endpoint, and row scopes can't name it. */
export function checkMasks({ fields }: EndpointDefinition, path: string, report: Report): void {
  const placed = fields.flatMap((field, index) => {
    const at = `${path}.fields[${index}]`;
    const lines = (field.fields ?? []).map((line, position) => ({
      ...{ ...line, scopable: undefined },
      source: `${field.source}.${line.source}`,
      at: `${at}.fields[${position}]`,
    }));
    return [{ ...field, at }, ...lines];
  });
  const masked = new Set(placed.flatMap(({ source, mask }) => (mask === undefined ? [] : [source])));
  for (const { source, mask, scopable, at } of placed) {
    if (!masked.has(source)) continue;
    if (scopable) report('save', `${at}.scopable`, 'not_scopable', 'Row scopes cannot name a masked field');
    if (mask === undefined)
      report(
        'save',
        `${at}.mask`,
        'unmasked_source',
        `The source "${source}" is masked in another field of this endpoint; mask it here too`,
      );
  }
}
