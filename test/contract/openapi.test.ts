// The description of the management interface: valid, lint-clean, complete, and the same as the one kept in docs.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { oas30 } from 'openapi3-ts';
import supertest from 'supertest';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { errorStatus } from '../../src/core/errors.ts';
import type { Route } from '../../src/http/route.ts';
import { describePlatform, platformRoutes } from '../../src/platform/index.ts';
import { base } from '../setup/api.ts';
import { testDatabase } from '../setup/database.ts';

const publicUrl = 'http://127.0.0.1:8080';
const described = JSON.parse(JSON.stringify(describePlatform(publicUrl))) as oas30.OpenAPIObject;
const operationOf = ({ path: at, method }: { path: string; method: string }) =>
  (described.paths[at] as Record<string, oas30.OperationObject> | undefined)?.[method.toLowerCase()];
const guarded = platformRoutes.filter((route): route is Route => route.access === 'credential');

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.0.3', async () => {
    expect(described.openapi).toBe('3.0.3');
    const result = await new Validator().validate(structuredClone(described) as unknown as Record<string, unknown>);
    expect(result.errors ?? []).toEqual([]);
  });

  it('is clean by the recommended rules of the linter', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'platform-openapi-'));
    try {
      const file = path.join(folder, 'openapi.json');
      await writeFile(file, JSON.stringify({ ...described, servers: [{ url: 'https://portal.example.org/api/platform/v1' }] }));
      const cli = path.resolve('node_modules/@redocly/cli/bin/cli.js');
      const { stdout } = await promisify(execFile)(process.execPath, [cli, 'lint', '--extends=recommended', '--format=json', file], {
        cwd: folder,
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      });
      expect(JSON.parse(stdout).totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('shows for every body an example that the operation takes', () => {
    for (const route of guarded) {
      if (route.body === undefined) continue;
      expect(route.example, `${route.id} lacks an example`).toBeDefined();
      expect(route.body.safeParse(route.example).error?.issues ?? [], route.id).toEqual([]);
    }
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
      expect([name, operationOf({ method, path: at })?.operationId]).toEqual([name, expect.any(String)]);
    }
  });

  it('describes every route with its permission, its input and its errors', () => {
    for (const route of guarded) {
      const operation = operationOf(route);
      expect(operation?.operationId).toBe(route.id);
      expect(operation?.['x-permission']).toBe(route.permission === 'any' ? undefined : route.permission);
      expect(Object.keys(operation?.responses ?? {})).toEqual(expect.arrayContaining(['401', '429', '500']));
      expect(operation?.requestBody !== undefined).toBe(route.body !== undefined);
      const names = (operation?.parameters as oas30.ParameterObject[] | undefined)?.map(({ name }) => name) ?? [];
      const wanted = [route.params, route.query].flatMap((shape) => Object.keys(shape?.shape ?? {}));
      expect(names).toEqual([...wanted, ...(route.method === 'POST' ? ['Idempotency-Key'] : [])]);
    }
  });

  it('closes what is sent and leaves open what is answered', () => {
    const body = operationOf({ method: 'POST', path: '/api-keys' })?.requestBody as oas30.RequestBodyObject;
    expect(body.content['application/json']?.schema).toMatchObject({ additionalProperties: false, required: ['name'] });
    expect(JSON.stringify(described.components?.schemas?.['ApiKey'])).not.toContain('"additionalProperties":false');
  });

  it('knows the seven error codes and pages of at most 100', () => {
    const error = JSON.stringify(described.components?.schemas?.['Error']);
    expect(error).toContain(JSON.stringify(Object.keys(errorStatus)));
    const parameters = operationOf({ method: 'GET', path: '/sync-configs' })?.parameters as oas30.ParameterObject[];
    expect(parameters.find(({ name }) => name === 'pageSize')?.schema).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 25 });
  });

  it('holds nothing of zod that OpenAPI 3.0 does not know', () => {
    const text = JSON.stringify(described);
    for (const alien of ['"$schema"', '"$defs"', '"const"', '"openapi":{', '"prefixItems"', '"type":"null"', '"exclusiveMinimum":0'])
      expect([alien, text.includes(alien)]).toEqual([alien, false]);
  });
});

describe('GET /openapi', () => {
  it('answers anyone, with the address of the service', async () => {
    const database = await testDatabase({ settings: { publicUrl: 'https://portal.example.org' } });
    try {
      const answer = await supertest(createApp(database.ctx)).get(`${base}/openapi`);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual(JSON.parse(JSON.stringify(describePlatform('https://portal.example.org'))));
      expect(answer.body.servers).toEqual([{ url: 'https://portal.example.org/api/platform/v1' }]);
    } finally {
      await database.close();
    }
  });
});
