// Validates responses against the published OpenAPI document: a status, field or type that it doesn't
// describe is a failure.
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import type { oas30 } from 'openapi3-ts';

type Json = Record<string, unknown>;

/**
 * The JSON Schema of an OpenAPI 3.0 schema. For responses it is closed here, although clients must expect new
 * fields.
 */
function toJsonSchema(value: unknown, closed: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => toJsonSchema(item, closed));
  if (typeof value !== 'object' || value === null) return value;
  const { nullable, example: _, ...rest } = value as Json;
  const named = Object.fromEntries(
    Object.entries(rest).map(([key, item]) => [
      key,
      key === 'properties' || key === 'schemas'
        ? Object.fromEntries(
            Object.entries(item as Json).map(([name, part]) => [name, toJsonSchema(part, closed)]),
          )
        : key === 'enum' || key === 'default'
          ? item
          : toJsonSchema(item, closed),
    ]),
  ) as Json;
  if (typeof named['$ref'] === 'string') named['$ref'] = `api${named['$ref']}`;
  if (closed && named['properties'] !== undefined) named['additionalProperties'] ??= false;
  return nullable === true ? { anyOf: [{ type: 'null' }, named] } : named;
}

export type Description = ReturnType<typeof openDescription>;

export function openDescription(made: unknown) {
  const document = JSON.parse(JSON.stringify(made)) as oas30.OpenAPIObject;
  const operations = new Map<string, oas30.OperationObject>();
  for (const item of Object.values(document.paths))
    for (const operation of Object.values(item as Record<string, oas30.OperationObject>))
      operations.set(operation.operationId ?? '', operation);
  const open = (closed: boolean) => {
    // Each schema is used a few times: optimizing its validator costs more than it saves.
    const ajv = new Ajv({ strict: false, allErrors: true, code: { optimize: false } });
    formats.default(ajv);
    return ajv.addSchema({
      $id: 'api',
      components: toJsonSchema({ schemas: document.components?.schemas }, closed),
    });
  };
  const answers = open(true);
  const bodies = open(false);
  const compiled = new Map<string, ValidateFunction>();
  const compile = (ajv: Ajv, key: string, schema: unknown, closed: boolean): ValidateFunction => {
    const held = compiled.get(key) ?? ajv.compile(toJsonSchema(schema, closed) as Json);
    compiled.set(key, held);
    return held;
  };
  const resolve = <T>(part: T | oas30.ReferenceObject | undefined): T | undefined => {
    if (typeof part !== 'object' || part === null || !('$ref' in part)) return part as T | undefined;
    return document.components?.responses?.[part.$ref.replace('#/components/responses/', '')] as
      | T
      | undefined;
  };
  const findResponse = (id: string, status: number) =>
    resolve<oas30.ResponseObject>(operations.get(id)?.responses[String(status)]);
  const findContent = (part: oas30.ResponseObject | oas30.RequestBodyObject | undefined) =>
    part?.content?.['application/json'];
  return {
    document,
    operations,
    findResponse,
    findContent,
    /** Why the document doesn't cover this response; undefined when it does. */
    findProblem(id: string, { status, body }: { status: number; body: unknown }): string | undefined {
      const response = findResponse(id, status);
      if (response === undefined) return `the document does not describe the status ${status}`;
      const schema = findContent(response)?.schema;
      if (schema === undefined)
        return body === undefined ? undefined : `${status} has a body that the document does not describe`;
      const validate = compile(answers, `${id} ${status}`, schema, true);
      return validate(body)
        ? undefined
        : `${status} breaks its description: ${answers.errorsText(validate.errors)} in ${JSON.stringify(body)}`;
    },
    /** Whether the document allows a request body; undefined for an operation without one. */
    allowsBody(id: string, body: unknown): boolean | undefined {
      const request = operations.get(id)?.requestBody as oas30.RequestBodyObject | undefined;
      const schema = findContent(request)?.schema;
      return schema === undefined ? undefined : compile(bodies, `${id} request`, schema, false)(body);
    },
  };
}
