// Validates responses of the public interface against the description of their version (OpenAPI 3.1, whose
// schemas are JSON Schema).
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { oas31 } from 'openapi3-ts';

/** Clients must accept additional properties, but every property sent today must be documented. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const inner = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, closed(value)]));
  return 'properties' in inner && typeof inner['properties'] === 'object'
    ? { additionalProperties: false, ...inner }
    : inner;
}

const pointer = (...steps: string[]): string =>
  steps.map((step) => `/${encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

/**
 * `(path, response)` → the violations of the description; empty when it conforms. `path` is a template such
 * as `/v1/invoices/{id}`.
 */
export function openDescribed(
  text: string,
): (path: string, answer: { readonly status: number; readonly body: unknown }) => string[] {
  const document = closed(JSON.parse(text)) as oas31.OpenAPIObject;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema({ ...document, $id: 'published' });
  const compiled = new Map<string, ValidateFunction>();
  return (path, { status, body }) => {
    const described = document.paths?.[path]?.get?.responses?.[String(status)] as
      | oas31.ReferenceObject
      | object
      | undefined;
    if (described === undefined) return [`${path} does not document the status ${status}`];
    const at =
      '$ref' in described ? described.$ref : `#${pointer('paths', path, 'get', 'responses', String(status))}`;
    const reference = `published${at}${pointer('content', 'application/json', 'schema')}`;
    const validate = compiled.get(reference) ?? ajv.compile({ $ref: reference });
    compiled.set(reference, validate);
    return validate(body)
      ? []
      : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}
