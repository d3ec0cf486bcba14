// Validates the relations of an endpoint: their names, the field that refers to other records, and the
// endpoint in whose shape these are embedded. Pure.
import { boundSource, type IndexedRecordType } from './bind.ts';
import { type Report, reportDuplicates } from './definition-problems.ts';
import type {
  EndpointDefinition,
  FieldDefinition,
  RelationDefinition,
  SchemaDocument,
} from './schema-document.ts';

const relationName = /^[a-z][A-Za-z0-9_]{0,62}$/;
/** Types whose values can be ids. */
const idTypes: ReadonlySet<string> = new Set(['text', 'integer', 'number']);

const mayRefer = ({ source }: FieldDefinition): boolean => source !== 'lines' && !source.endsWith('.name');

/** Reports every problem of the relations of `endpoint`, which is at `path` of the document. */
export function checkRelations(
  endpoint: EndpointDefinition,
  path: string,
  { endpoints }: SchemaDocument,
  type: IndexedRecordType | undefined,
  report: Report,
): void {
  const { relations = [] } = endpoint;
  if (relations.length === 0) return;
  const referring = new Map(endpoint.fields.filter(mayRefer).map((field) => [field.name, field]));
  const taken = new Set(['id', ...endpoint.fields.map(({ name }) => name.toLowerCase())]);
  const names = relations.map(({ name }) => name);
  reportDuplicates(names, (index) => `${path}.relations[${index}].name`, 'relation', report);
  for (const [index, relation] of relations.entries()) {
    const at = `${path}.relations[${index}]`;
    checkName(relation, taken, at, report);
    const field = referring.get(relation.field);
    if (field === undefined) {
      const message = 'A relation must name a field of this endpoint that holds the id of the other record.';
      report('save', `${at}.field`, 'not_included', message, {
        wanted: relation.field,
        known: () => referring.keys(),
      });
    }
    const target = endpoints.find(({ name }) => name === relation.resource);
    if (target === undefined) {
      const known = () => endpoints.map(({ name }) => name);
      report(
        'save',
        `${at}.resource`,
        'unknown_resource',
        'A relation must name an endpoint of this document.',
        { wanted: relation.resource, known },
      );
    }
    if (field !== undefined && target !== undefined) checkTarget(type, field, target, at, report);
  }
}

function checkName({ name }: RelationDefinition, taken: ReadonlySet<string>, at: string, report: Report) {
  if (!relationName.test(name)) {
    const message =
      'A relation name must have 1 to 63 characters: a lower-case letter, then letters, digits or underscores';
    report('save', `${at}.name`, 'illegal_name', message);
  }
  if (taken.has(name.toLowerCase())) {
    const message = `"${name}" is also the name of a field of this endpoint. The embedded record needs a name of its own.`;
    report('save', `${at}.name`, 'clashes_with_field', message);
  }
}

/** What the field refers to is only known of record types that the ERP has described. */
function checkTarget(
  type: IndexedRecordType | undefined,
  { name, source, as }: FieldDefinition,
  target: EndpointDefinition,
  at: string,
  report: Report,
): void {
  const column = type?.bySource.get(boundSource({ source, as }));
  if (type === undefined || column === undefined) return;
  if (!idTypes.has(column.type)) {
    report(
      'publish',
      `${at}.field`,
      'not_a_reference',
      `"${name}" is a ${column.type} field. A relation needs a reference field.`,
    );
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
