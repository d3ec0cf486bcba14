// Validates a definition, reporting all problems at once. Some rules apply to every draft and block saving; the others depend on what is
// currently synced and block only publishing.

import { didYouMean } from '../../core/nearest-name.ts';
import type { ColumnType, RecordColumn } from '../../warehouse/columns.ts';
import { type Available, type AvailableRecordType, availableType, columnOf, sourceOf } from './bind.ts';
import { maskFits, operatorFits, operatorsOf, suffixOf } from './operators.ts';
import {
  type EndpointDefinition,
  type FieldDefinition,
  type LineFieldDefinition,
  operators,
  type SchemaDocument,
} from './schema-document.ts';

export type DefinitionProblem = {
  /** JSON path, such as `endpoints[0].fields[2].source`. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly blocks: 'save' | 'publish';
};

type Report = (blocks: DefinitionProblem['blocks'], path: string, code: string, message: string) => void;

const resourceName = /^[a-z][a-z0-9-]{0,62}$/;
const fieldName = /^[a-z][A-Za-z0-9_]{0,62}$/;
const reserved = new Set(['id', 'page', 'pagesize', 'sort', 'order', 'fields', 'since', 'limit', 'draft']);
const suffixes = operators.map(suffixOf).filter((suffix) => suffix !== '');

/** Every problem of the definition, in document order; empty when it may be published. Pure. */
export function validateDocument(document: SchemaDocument, available: Available): DefinitionProblem[] {
  const problems: DefinitionProblem[] = [];
  const report: Report = (blocks, path, code, message) => problems.push({ path, code, message, blocks });
  if (document.endpoints.length === 0) report('publish', 'endpoints', 'no_endpoints', 'Publishing requires at least one endpoint');
  reportDuplicates(
    document.endpoints.map(({ name }) => name),
    (index) => `endpoints[${index}].name`,
    'endpoint name',
    report,
  );
  for (const [index, endpoint] of document.endpoints.entries()) checkEndpoint(endpoint, `endpoints[${index}]`, available, report);
  return problems;
}

function checkEndpoint(endpoint: EndpointDefinition, path: string, available: Available, report: Report): void {
  if (!resourceName.test(endpoint.name)) {
    report(
      'save',
      `${path}.name`,
      'illegal_name',
      'An endpoint name must have 1 to 63 characters: a lower-case letter, then lower-case letters, digits or hyphens',
    );
  }
  const recordType = checkRecordType(endpoint.recordType, `${path}.recordType`, available, report);
  checkFieldNames(endpoint, path, report);
  for (const [index, field] of endpoint.fields.entries()) checkField(field, `${path}.fields[${index}]`, recordType, report);
  checkMasks(endpoint, path, report);
  checkFilters(endpoint, path, recordType, report);
  checkSorts(endpoint, path, report);
}

function checkRecordType(name: string, path: string, available: Available, report: Report): AvailableRecordType | undefined {
  const found = availableType(available, name);
  if (found === undefined)
    report('publish', path, 'unknown_record_type', `No synced record type has this name.${didYouMean(name, Object.keys(available))}`);
  else if (!found.hasData) report('publish', path, 'not_synced', `No complete sync of ${found.label} has been published yet`);
  return found;
}

function checkFieldNames(endpoint: EndpointDefinition, path: string, report: Report): void {
  const names = endpoint.fields.map(({ name }) => name);
  const known = new Map(names.map((name) => [name.toLowerCase(), name]));
  for (const [index, name] of names.entries()) {
    const at = `${path}.fields[${index}].name`;
    checkFieldName(name, at, report);
    if (reserved.has(name.toLowerCase())) report('save', at, 'reserved_name', `"${name}" is reserved`);
    for (const suffix of suffixes) {
      if (!name.toLowerCase().endsWith(suffix)) continue;
      const stem = name.slice(0, -suffix.length).toLowerCase();
      const other = stem === 'id' ? 'id' : known.get(stem);
      if (other !== undefined)
        report('save', at, 'clashes_with_filter', `"${name}" is also the name of the ${suffix} filter of the field "${other}"`);
    }
  }
  reportDuplicates(names, (index) => `${path}.fields[${index}].name`, 'field name', report);
}

function checkFieldName(name: string, path: string, report: Report): void {
  if (!fieldName.test(name)) {
    report(
      'save',
      path,
      'illegal_name',
      'A field name must have 1 to 63 characters: a lower-case letter, then letters, digits or underscores',
    );
  }
}

function checkField(field: FieldDefinition, path: string, recordType: AvailableRecordType | undefined, report: Report): void {
  const isLines = field.source === 'lines';
  if (isLines && field.fields === undefined)
    report('save', `${path}.fields`, 'lines_without_fields', 'The source "lines" requires the list of its fields to publish');
  if (!isLines && field.fields !== undefined)
    report('save', `${path}.fields`, 'fields_without_lines', 'Only the source "lines" may have "fields"');
  if (isLines && field.as !== undefined) report('save', `${path}.as`, 'not_a_number', '"as" applies only to number fields');
  if (isLines && field.mask !== undefined)
    report('save', `${path}.mask`, 'mask_misfits', 'Lines as a whole cannot be masked; mask their fields instead');
  if (isLines && field.scopable) report('save', `${path}.scopable`, 'not_scopable', 'Row scopes cannot name lines');
  checkTags(field, path, report);
  const names = (field.fields ?? []).map(({ name }) => name);
  for (const [index, line] of (field.fields ?? []).entries()) {
    checkFieldName(line.name, `${path}.fields[${index}].name`, report);
    checkTags(line, `${path}.fields[${index}]`, report);
  }
  reportDuplicates(names, (index) => `${path}.fields[${index}].name`, 'field name', report);
  if (recordType === undefined) return;
  const column = columnOf(recordType.columns, field.source);
  if (column === undefined) {
    const known = recordType.columns.filter(({ state }) => state !== 'replaced').map(sourceOf);
    report(
      'publish',
      `${path}.source`,
      'unknown_source',
      `${recordType.label} has no synced field of this name.${didYouMean(field.source, known)}`,
    );
    return;
  }
  if (column.state === 'loading' || column.state === 'returned')
    report('publish', `${path}.source`, 'still_loading', 'This field is still loading. It can be published after the next complete run.');
  if (column.state === 'vanished') report('publish', `${path}.source`, 'vanished', 'This field no longer exists in the ERP');
  if (column.state === 'stale')
    report('publish', `${path}.source`, 'stale', "This field can't be read in the ERP at the moment. See the stale fields of its sync.");
  if (!isLines) {
    checkWrittenAs(field.as, column.type, `${path}.as`, report);
    checkMask(field.mask, column.type, `${path}.mask`, report);
    if (field.scopable) checkScopable(column, recordType, `${path}.scopable`, report);
  }
  checkLineSources(field, path, column, report);
}

function checkLineSources(field: FieldDefinition, path: string, column: RecordColumn, report: Report): void {
  if (column.type !== 'lines') return;
  const known = column.lineFields ?? [];
  for (const [index, line] of (field.fields ?? []).entries()) {
    const at = `${path}.fields[${index}]`;
    const found = known.find(({ name }) => name === line.source);
    if (found !== undefined) {
      checkWrittenAs(line.as, found.type, `${at}.as`, report);
      checkMask(line.mask, found.type, `${at}.mask`, report);
      continue;
    }
    report(
      'publish',
      `${at}.source`,
      'unknown_source',
      `The lines have no synced field of this name.${didYouMean(
        line.source,
        known.map(({ name }) => name),
      )}`,
    );
  }
}

function checkWrittenAs(as: FieldDefinition['as'], type: ColumnType, path: string, report: Report): void {
  if (as !== undefined && type !== 'number' && type !== 'integer')
    report('publish', path, 'not_a_number', `"as" applies only to number fields; this is a ${type} field`);
}

function checkMask(mask: FieldDefinition['mask'], type: ColumnType, path: string, report: Report): void {
  if (mask !== undefined && !maskFits(mask, type))
    report('publish', path, 'mask_misfits', `The mask "${mask}" cannot be used with a ${type} field`);
}

function checkScopable({ field, part }: RecordColumn, { volatileFields = [] }: AvailableRecordType, path: string, report: Report): void {
  if (part === 'label') report('publish', path, 'not_scopable', 'Row scopes cannot name labels; publish the field itself');
  if (volatileFields.includes(field))
    report('publish', path, 'not_scopable', "Row scopes cannot name a field that changes without the record's modification time");
}

const checkTags = ({ tags = [] }: LineFieldDefinition, path: string, report: Report): void =>
  reportDuplicates(tags, (index) => `${path}.tags[${index}]`, 'tag', report);

/** A source that is masked is masked under every name of the endpoint, and row scopes can't name it. */
function checkMasks({ fields }: EndpointDefinition, path: string, report: Report): void {
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

function checkFilters(endpoint: EndpointDefinition, path: string, recordType: AvailableRecordType | undefined, report: Report): void {
  const names = endpoint.fields.map(({ name }) => name);
  reportDuplicates(
    endpoint.filters.map(({ field }) => field),
    (index) => `${path}.filters[${index}].field`,
    'filter',
    report,
  );
  for (const [index, filter] of endpoint.filters.entries()) {
    const at = `${path}.filters[${index}]`;
    reportDuplicates(filter.operators, (at2) => `${at}.operators[${at2}]`, 'operator', report);
    const field = endpoint.fields.find(({ name }) => name === filter.field);
    if (field === undefined) {
      report('save', `${at}.field`, 'not_included', `A filter must refer to a field of this endpoint.${didYouMean(filter.field, names)}`);
      continue;
    }
    if (field.source === 'lines') {
      report('save', `${at}.field`, 'lines', 'Fields of lines cannot be filtered');
      continue;
    }
    const column = recordType === undefined ? undefined : columnOf(recordType.columns, field.source);
    if (column === undefined) continue;
    for (const [position, operator] of filter.operators.entries()) {
      if (operatorFits(operator, column.type)) continue;
      report(
        'publish',
        `${at}.operators[${position}]`,
        'operator_misfits',
        `"${operator}" cannot be used with a ${column.type} field. Available operators: ${operatorsOf(column.type).join(', ')}`,
      );
    }
  }
}

function checkSorts(endpoint: EndpointDefinition, path: string, report: Report): void {
  const names = endpoint.fields.map(({ name }) => name);
  reportDuplicates(endpoint.sorts, (index) => `${path}.sorts[${index}]`, 'sort', report);
  for (const [index, sort] of endpoint.sorts.entries()) {
    const field = endpoint.fields.find(({ name }) => name === sort);
    if (field === undefined)
      report('save', `${path}.sorts[${index}]`, 'not_included', `A sort must refer to a field of this endpoint.${didYouMean(sort, names)}`);
    else if (field.source === 'lines') report('save', `${path}.sorts[${index}]`, 'lines', 'Lines cannot be sorted by');
  }
  const { defaultSort } = endpoint;
  if (defaultSort !== null && !endpoint.sorts.includes(defaultSort.field)) {
    report(
      'save',
      `${path}.defaultSort.field`,
      'not_a_sort',
      `The default sort must be one of the declared sorts.${didYouMean(defaultSort.field, endpoint.sorts)}`,
    );
  }
}

function reportDuplicates(names: readonly string[], pathOf: (index: number) => string, thing: string, report: Report): void {
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    const folded = name.toLowerCase();
    if (seen.has(folded))
      report('save', pathOf(index), 'duplicate', `Duplicate ${thing} "${name}" (names are compared without regard to case)`);
    seen.add(folded);
  }
}
