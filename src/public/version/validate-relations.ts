// Validates the relations of an endpoint: their names, the field that refers to other records, and the endpoint in whose shape these are
// embedded. Pure.
import { didYouMean } from '../../core/nearest-name.ts';
import { type Available, availableType, columnOf } from './bind.ts';
import { type Report, reportDuplicates } from './definition-problems.ts';
import type { EndpointDefinition, FieldDefinition, RelationDefinition, SchemaDocument } from './schema-document.ts';

const relationName = /^[a-z][A-Za-z0-9_]{0,62}$/;
/** Types whose values can be ids. */
const idTypes: ReadonlySet<string> = new Set(['text', 'integer', 'number']);

const mayRefer = ({ source }: FieldDefinition): boolean => source !== 'lines' && !source.endsWith('.name');

/** Reports every problem of the relations of `endpoint`, which is at `path` of the document. */
export function checkRelations(
  endpoint: EndpointDefinition,
  path: string,
  { endpoints }: SchemaDocument,
  available: Available,
  report: Report,
): void {
  const relations = endpoint.relations ?? [];
  const names = relations.map(({ name }) => name);
  reportDuplicates(names, (index) => `${path}.relations[${index}].name`, 'relation', report);
  for (const [index, relation] of relations.entries()) {
    const at = `${path}.relations[${index}]`;
    checkName(relation, endpoint, at, report);
    const field = endpoint.fields.filter(mayRefer).find(({ name }) => name === relation.field);
    if (field === undefined) {
      const known = endpoint.fields.filter(mayRefer).map(({ name }) => name);
      const message = `A relation must name a field of this endpoint that holds the id of the other record.${didYouMean(relation.field, known)}`;
      report('save', `${at}.field`, 'not_included', message);
    }
    const target = endpoints.find(({ name }) => name === relation.resource);
    if (target === undefined) {
      const known = endpoints.map(({ name }) => name);
      const message = `A relation must name an endpoint of this document.${didYouMean(relation.resource, known)}`;
      report('save', `${at}.resource`, 'unknown_resource', message);
    }
    if (field !== undefined && target !== undefined) checkTarget(endpoint, field, target, at, available, report);
  }
}

function checkName({ name }: RelationDefinition, { fields }: EndpointDefinition, at: string, report: Report): void {
  if (!relationName.test(name)) {
    const message = 'A relation name must have 1 to 63 characters: a lower-case letter, then letters, digits or underscores';
    report('save', `${at}.name`, 'illegal_name', message);
  }
  const folded = name.toLowerCase();
  if (folded === 'id' || fields.some((field) => field.name.toLowerCase() === folded)) {
    const message = `"${name}" is also the name of a field of this endpoint. The embedded record needs a name of its own.`;
    report('save', `${at}.name`, 'clashes_with_field', message);
  }
}

/** What the field refers to is only known of record types that the ERP has described. */
function checkTarget(
  { recordType }: EndpointDefinition,
  { name, source }: FieldDefinition,
  target: EndpointDefinition,
  at: string,
  available: Available,
  report: Report,
): void {
  const type = availableType(available, recordType);
  const column = type && columnOf(type.columns, source);
  if (type === undefined || column === undefined) return;
  if (!idTypes.has(column.type)) {
    report('publish', `${at}.field`, 'not_a_reference', `"${name}" is a ${column.type} field. A relation needs a reference field.`);
    return;
  }
  const { targets = {} } = type;
  const named = Object.hasOwn(targets, source) ? targets[source] : undefined;
  if (named === undefined) {
    const message = `It is not known which record type "${name}" refers to. Refresh the description of ${type.label}, or use another reference field.`;
    report('publish', `${at}.field`, 'unknown_target', message);
  } else if (named !== target.recordType) {
    const message = `"${name}" refers to the record type "${named}", and "${target.name}" is an endpoint of "${target.recordType}"`;
    report('publish', `${at}.resource`, 'other_record_type', message);
  }
}
