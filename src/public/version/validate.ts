// Validates a definition, reporting all problems at once. Some rules apply to every draft and block saving; the others depend on what is
// currently synced and block only publishing.

import { didYouMean } from '../../core/nearest-name.ts';
import { type Available, type AvailableRecordType, availableType } from './bind.ts';
import { type DefinitionProblem, type Report, reportDuplicates } from './definition-problems.ts';
import type { EndpointDefinition, SchemaDocument } from './schema-document.ts';
import { checkField, checkFieldNames, checkMasks } from './validate-fields.ts';
import { checkQueries } from './validate-queries.ts';
import { checkRelations } from './validate-relations.ts';
import { checkSummary } from './validate-summary.ts';

export type { DefinitionProblem } from './definition-problems.ts';

const resourceName = /^[a-z][a-z0-9-]{0,62}$/;

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
  for (const [index, endpoint] of document.endpoints.entries()) {
    checkEndpoint(endpoint, `endpoints[${index}]`, available, report);
    checkRelations(endpoint, `endpoints[${index}]`, document, available, report);
  }
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
  checkQueries(endpoint, path, recordType, report);
  checkSummary(endpoint, path, recordType, report);
}

function checkRecordType(name: string, path: string, available: Available, report: Report): AvailableRecordType | undefined {
  const found = availableType(available, name);
  if (found === undefined)
    report('publish', path, 'unknown_record_type', `No synced record type has this name.${didYouMean(name, Object.keys(available))}`);
  else if (!found.hasData) report('publish', path, 'not_synced', `No complete sync of ${found.label} has been published yet`);
  return found;
}
