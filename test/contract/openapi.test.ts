// The OpenAPI document of the management interface: valid, lint-clean, complete, and equal to the one in
// docs.
import { readFile } from 'node:fs/promises';
import type { oas30 } from 'openapi3-ts';
import supertest from 'supertest';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { errorStatus } from '../../src/core/errors.ts';
import { successStatus } from '../../src/http/route/route.ts';
import { describePlatform, platformRoutes } from '../../src/platform/index.ts';
import { lint, schemaErrors } from '../public/openapi/problems.ts';
import { base } from '../setup/api.ts';
import { testDatabase } from '../setup/database.ts';
import { openDescription } from './description.ts';
import { guardedRoutes } from './walk.ts';

const publicUrl = 'http://127.0.0.1:8080';
const description = openDescription(describePlatform(publicUrl));
const { document: described, findResponse, findContent } = description;
const findOperation = ({ path: at, method }: { path: string; method: string }) =>
  (described.paths[at] as Record<string, oas30.OperationObject> | undefined)?.[method.toLowerCase()];
const guarded = guardedRoutes();

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.0.3', async () => {
    expect(described.openapi).toBe('3.0.3');
    expect(await schemaErrors(JSON.stringify(described))).toEqual([]);
  });

  it('is the one in docs/openapi.json; refresh that with: node scripts/write-openapi.mjs', async () => {
    expect(JSON.parse(await readFile('docs/openapi.json', 'utf8'))).toEqual(described);
  });

  it('has every operation of the specification that this service has so far', () => {
    const specified = [
      'GET /whoami',
      'GET /sync-configs',
      'POST /sync-configs/{id}/trigger',
      'GET /sync-configs/{id}/runs',
      'GET /openapi',
    ];
    for (const name of specified) {
      const [method = '', at = ''] = name.split(' ');
      expect([name, findOperation({ method, path: at })?.operationId]).toEqual([name, expect.any(String)]);
    }
  });

  it('lists the groups that have operations, in their order', () => {
    const order = [
      'Identity',
      'Organizations',
      'ERP connection',
      'Syncs',
      'API Keys',
      'Webhooks',
      'Teams',
      'Domains',
      'Views',
      'Portal Config',
      'Agents',
      'Pay',
      'Description',
    ];
    const used = new Set<string>(platformRoutes.map(({ group }) => group));
    expect(described.tags?.map(({ name }) => name)).toEqual(order.filter((name) => used.has(name)));
  });
});

/**
 * One operation of it, with an unknown tag, a script in its description and an example that doesn't match its
 * schema.
 */
function breakDescription(): typeof described {
  const broken = structuredClone({
    ...described,
    paths: { '/whoami': described.paths['/whoami'] },
  }) as typeof described;
  const whoAmI = (broken.paths['/whoami'] as { get: oas30.OperationObject }).get;
  whoAmI.tags = ['Nowhere'];
  whoAmI.description = 'Who is calling <script>?';
  const content = (whoAmI.responses['200'] as oas30.ResponseObject).content?.['application/json'];
  if (content !== undefined) content.example = { user: 7 };
  return broken;
}

/** Redocly's recommended rules as errors, and the others that say what makes a description hard to use. */
const lintRules = {
  extends: ['recommended-strict'],
  rules: Object.fromEntries(
    [
      'info-contact',
      'no-duplicated-tag-names',
      'no-invalid-parameter-examples',
      'no-invalid-schema-examples',
      'no-schema-type-mismatch',
      'operation-4xx-response',
      'operation-description',
      'operation-operationId',
      'operation-singular-tag',
      'operation-tag-defined',
      'parameter-description',
      'path-not-include-query',
      'tag-description',
    ].map((name) => [name, 'error']),
  ),
};

describe('the linter', () => {
  it('finds nothing', async () => {
    // A loopback server URL is reported as a mistake.
    const servers = [{ url: 'https://portal.example.org/api/platform/v1' }];
    expect((await lint(JSON.stringify({ ...described, servers }), lintRules)).problems).toEqual([]);
  });

  it('finds problems where there are some', async () => {
    const { problems } = await lint(JSON.stringify(breakDescription()), lintRules);
    const found = problems.map(({ ruleId }) => ruleId);
    const wanted = ['operation-tag-defined', 'no-invalid-media-type-examples', 'no-unsafe-markdown'];
    expect(found).toEqual(expect.arrayContaining(wanted));
  });
});

/**
 * What the linter has no rule for: anything next to a $ref, which OpenAPI 3.0 ignores, a value twice in an
 * enum, and arrays of nothing.
 */
function findSchemaProblems(document: object): string[] {
  const problems: string[] = [];
  JSON.stringify(document, (key, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const { $ref, enum: values, type, items }: Record<string, unknown> = { ...value };
    if ($ref !== undefined && Object.keys(value).length > 1) problems.push(`${key}: next to $ref`);
    if (Array.isArray(values) && new Set(values).size < values.length) problems.push(`${key}: twice in enum`);
    if (type === 'array' && items === undefined) problems.push(`${key}: array without items`);
    return value;
  });
  return problems;
}

describe('every schema', () => {
  it('is free of what the linter has no rule for', () => {
    expect(findSchemaProblems(described)).toEqual([]);
    const broken = {
      ref: { $ref: '#/a', description: 'b' },
      list: { enum: ['a', 'b', 'a'] },
      loose: { type: 'array' },
    };
    expect(findSchemaProblems(broken)).toEqual([
      'ref: next to $ref',
      'list: twice in enum',
      'loose: array without items',
    ]);
  });
});

describe('every operation', () => {
  it('is described with its permission, its input and its errors', () => {
    for (const route of guarded) {
      const operation = findOperation(route);
      expect(operation?.operationId).toBe(route.id);
      expect(operation?.['x-required-permission']).toBe(route.permission);
      const errors = [
        '400',
        '401',
        '406',
        '429',
        '500',
        // Every caller with a valid credential may ask who they are.
        ...(route.permission === 'any' ? [] : ['403']),
        ...(route.path.includes('{') ? ['404'] : []),
        ...(route.method === 'GET' ? [] : ['422']),
      ];
      expect(Object.keys(operation?.responses ?? {})).toEqual(expect.arrayContaining(errors));
      expect(operation?.requestBody !== undefined).toBe(route.body !== undefined);
      // An absent body is read as an empty object.
      const request = operation?.requestBody as oas30.RequestBodyObject | undefined;
      expect([route.id, request?.required]).toEqual([
        route.id,
        route.body && !route.body.safeParse({}).success,
      ]);
      const names =
        (operation?.parameters as oas30.ParameterObject[] | undefined)?.map(({ name }) => name) ?? [];
      const wanted = [route.params, route.query].flatMap((shape) => Object.keys(shape?.shape ?? {}));
      expect(names).toEqual([
        ...wanted,
        ...(route.method === 'POST' ? ['Idempotency-Key'] : []),
        ...(route.method !== 'GET' || route.stream === undefined ? [] : ['Last-Event-ID']),
        ...(route.download?.resumes === true ? ['X-Resume-At', 'If-Match'] : []),
      ]);
    }
  });

  it('has a summary, a description and a description of each parameter', () => {
    for (const route of platformRoutes) {
      const operation = findOperation(route);
      const texts = [
        operation?.summary,
        operation?.description,
        ...((operation?.parameters ?? []) as oas30.ParameterObject[]).map((one) => one.description),
      ];
      for (const text of texts) expect([route.id, text]).toEqual([route.id, expect.stringMatching(/\w{2,}/)]);
    }
    const silent = guarded.filter(({ description: text }) => text === undefined).map(({ id }) => id);
    expect(silent, 'give these a description of their own').toEqual([]);
  });

  it('has a valid example of its body', () => {
    for (const route of guarded) {
      if (route.body === undefined) continue;
      expect(route.example, `${route.id} lacks an example`).toBeDefined();
      expect(route.body.safeParse(route.example).error?.issues ?? [], route.id).toEqual([]);
      expect([route.id, description.allowsBody(route.id, route.example)]).toEqual([route.id, true]);
    }
  });

  it('has an example of every response that matches its schema', () => {
    for (const route of platformRoutes) {
      for (const status of Object.keys(findOperation(route)?.responses ?? {}).map(Number)) {
        const content = findContent(findResponse(route.id, status));
        if (route.response === undefined && status === successStatus(route)) expect(content).toBeUndefined();
        else {
          expect([route.id, status, content?.example]).toEqual([route.id, status, expect.anything()]);
          expect([route.id, description.findProblem(route.id, { status, body: content?.example })]).toEqual([
            route.id,
            undefined,
          ]);
        }
        if (status >= 400)
          expect(content?.example.error.code).toBe(
            Object.entries(errorStatus).find(([, held]) => held === sameCode(status))?.[0],
          );
      }
    }
  });

  it('describes the headers of its responses', () => {
    for (const route of guarded) {
      const headers = Object.keys(findResponse(route.id, successStatus(route))?.headers ?? {});
      const wanted = [
        'X-Request-Id',
        'RateLimit',
        'RateLimit-Policy',
        ...(route.method === 'POST' ? ['Idempotency-Replayed'] : []),
      ];
      expect([route.id, headers]).toEqual([route.id, wanted]);
      expect(Object.keys(findResponse(route.id, 429)?.headers ?? {})).toContain('Retry-After');
    }
    expect(Object.keys(described.components?.headers ?? {})).toEqual(
      expect.arrayContaining(['RateLimit', 'WWW-Authenticate']),
    );
  });

  it('accepts a key, token or session, unless it is public', () => {
    expect(described.security).toEqual([{ bearer: [] }, { session: [] }]);
    expect(described.components?.securitySchemes?.['session']).toMatchObject({
      type: 'apiKey',
      in: 'cookie',
      name: 'portal_session',
    });
    for (const route of platformRoutes)
      expect(findOperation(route)?.security).toEqual(route.access === 'public' ? [] : undefined);
  });
});

/** Statuses that share the error code of another status. */
const sameCode = (status: number): number =>
  ({ 406: 400, 412: 400, 413: 400, 415: 400, 503: 500 })[status] ?? status;

describe('schemas', () => {
  it('are closed for requests and open for responses', () => {
    const body = findOperation({ method: 'POST', path: '/api-keys' })?.requestBody as oas30.RequestBodyObject;
    expect(body.content['application/json']?.schema).toMatchObject({
      additionalProperties: false,
      required: ['name'],
    });
    expect(JSON.stringify(described.components?.schemas?.['ApiKey'])).not.toContain(
      '"additionalProperties":false',
    );
  });

  it('name the seven error codes and a page size of at most 100', () => {
    const error = JSON.stringify(described.components?.schemas?.['ErrorResponse']);
    expect(error).toContain(JSON.stringify(Object.keys(errorStatus)));
    const parameters = findOperation({ method: 'GET', path: '/sync-configs' })
      ?.parameters as oas30.ParameterObject[];
    expect(parameters.find(({ name }) => name === 'pageSize')?.schema).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 100,
      default: 25,
    });
  });

  it('contain nothing that OpenAPI 3.0 does not allow', () => {
    const text = JSON.stringify(described);
    const aliens = ['"$schema"', '"$defs"', '"const"', '"openapi":{', '"prefixItems"', '"type":"null"'];
    for (const alien of [...aliens, '"exclusiveMinimum":0'])
      expect([alien, text.includes(alien)]).toEqual([alien, false]);
  });
});

describe('GET /openapi', () => {
  it('is public and contains the URL of the service', async () => {
    const database = await testDatabase({ settings: { publicUrl: 'https://portal.example.org' } });
    onTestFinished(() => database.close());
    const answer = await supertest(createApp(database.ctx)).get(`${base}/openapi`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(JSON.parse(JSON.stringify(describePlatform('https://portal.example.org'))));
    expect(answer.body.servers).toEqual([{ url: 'https://portal.example.org/api/platform/v1' }]);
  });
});
