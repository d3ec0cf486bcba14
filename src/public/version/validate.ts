// Validates a definition, reporting all problems at once. Some rules apply to every draft and block saving;
// the others depend on what is currently synced and block only publishing.

import { type Available, availableType, type IndexedRecordType, indexSources } from './bind.ts';
import {
  createReport,
  type DefinitionProblem,
  type ProblemLimits,
  type Report,
  reportDuplicates,
} from './definition-problems.ts';
import { type IndexedEndpoint, indexFields } from './endpoint-fields.ts';
import type { SchemaDocument } from './schema-document.ts';
import { checkField, checkFieldNames, checkMasks } from './validate-fields.ts';
import { checkQueries } from './validate-queries.ts';
import { checkRelations } from './validate-relations.ts';
import { checkSummary } from './validate-summary.ts';

const resourceName = /^[a-z][a-z0-9-]{0,62}$/;

/** How many problems of a definition are reported. */
const maxProblems = 100;

/**
 * The first problems of the definition, in document order; empty when it may be published, or when nothing
 * blocks what `blocks` says. Pure.
 */
export function validateDocument(
  document: SchemaDocument,
  available: Available,
  { blocks, max = maxProblems }: Partial<ProblemLimits> = {},
): DefinitionProblem[] {
  const problems: DefinitionProblem[] = [];
  const report = createReport(problems, { max, ...(blocks !== undefined && { blocks }) });
  if (document.endpoints.length === 0)
    report('publish', 'endpoints', 'no_endpoints', 'Publishing requires at least one endpoint');
  reportDuplicates(
    document.endpoints.map(({ name }) => name),
    (index) => `endpoints[${index}].name`,
    'endpoint name',
    report,
  );
  const types = new Map<string, IndexedRecordType | undefined>();
  for (const [index, given] of document.endpoints.entries()) {
    const { recordType: name } = given;
    if (!types.has(name)) types.set(name, indexedType(name, available));
    const [endpoint, recordType, path] = [indexFields(given), types.get(name), `endpoints[${index}]`];
    checkEndpoint(endpoint, path, recordType, available, report);
    checkRelations(endpoint, path, document, recordType, report);
  }
  return problems;
}

function indexedType(name: string, available: Available): IndexedRecordType | undefined {
  const found = availableType(available, name);
  return found && indexSources(found);
}

function checkEndpoint(
  endpoint: IndexedEndpoint,
  path: string,
  recordType: IndexedRecordType | undefined,
  available: Available,
  report: Report,
): void {
  if (!resourceName.test(endpoint.name)) {
    report(
      'save',
      `${path}.name`,
      'illegal_name',
      'An endpoint name must have 1 to 63 characters: a lower-case letter, then lower-case letters, digits or hyphens',
    );
  }
  checkRecordType(endpoint.recordType, `${path}.recordType`, recordType, available, report);
  checkFieldNames(endpoint, path, report);
  for (const [index, field] of endpoint.fields.entries())
    checkField(field, `${path}.fields[${index}]`, recordType, report);
  checkMasks(endpoint, path, report);
  checkQueries(endpoint, path, recordType, report);
  checkSummary(endpoint, path, recordType, report);
}

function checkRecordType(
  name: string,
  path: string,
  found: IndexedRecordType | undefined,
  available: Available,
  report: Report,
): void {
  if (found === undefined)
    report('publish', path, 'unknown_record_type', 'No synced record type has this name.', {
      wanted: name,
      known: () => Object.keys(available),
    });
  else if (!found.hasData)
    report('publish', path, 'not_synced', `No complete sync of ${found.label} has been published yet`);
}
