// What holds for every operation of the management interface, whichever it is: walked over the route values themselves.
import type { Express } from 'express';
import fc from 'fast-check';
import supertest from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { newId } from '../../src/core/id.ts';
import { allPermissions } from '../../src/core/permissions.ts';
import type { Route } from '../../src/http/route.ts';
import { platformRoutes } from '../../src/platform/index.ts';
import { apiOf, base, codesOf, type Method } from '../setup/api.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeMember, makeOrganization } from '../setup/organization.ts';

const guarded = platformRoutes.filter((route): route is Route => route.access === 'credential');
const lists = guarded.filter((route) => route.query !== undefined && 'pageSize' in route.query.shape);
const withId = guarded.filter((route) => route.path.includes('{id}'));
const named = (routes: readonly Route[]) => routes.map((route) => [`${route.method} ${route.path}`, route] as const);
const methodOf = (route: Route) => route.method.toLowerCase() as Method;
const pathOf = (route: Route, id = newId()) =>
  route.path
    .replace('{id}', id)
    .replace('{recordType}', 'invoice')
    .replaceAll(/\{\w+\}/g, () => newId());

let database: TestDatabase;
let app: Express;
let owner: ReturnType<typeof apiOf>;
let powerless: ReturnType<typeof apiOf>;
/** Ids of another organization's objects, by the first part of the path. */
const foreign = new Map<string, string>();

async function makeForeignObjects(organizationId: string): Promise<void> {
  const { secret } = await makeKey(database.ctx, organizationId, { permissions: ['write'] });
  const api = apiOf(app, secret);
  foreign.set('organizations', organizationId);
  foreign.set('teams', (await api('post', '/teams', { name: 'foreign' })).body.id);
  foreign.set('api-keys', (await api('post', '/api-keys', { name: 'foreign' })).body.id);
  foreign.set('api-schema', (await api('post', '/api-schema', {})).body.id);
  const configId = newId();
  const runId = newId();
  await database.ctx.db.control.transaction(async (tx) => {
    await tx.raw("select set_config('portal.organization_id', ?, true)", [organizationId]);
    const config = {
      id: configId,
      organization_id: organizationId,
      name: 'foreign',
      record_type: 'invoice',
      mode: 'full',
      deletions: 'none',
    };
    await tx('sync_configs').insert(config);
    const run = { id: runId, organization_id: organizationId, sync_config_id: configId, record_type: 'invoice', mode: 'full' };
    await tx('sync_runs').insert({ ...run, trigger: 'manual' });
  });
  foreign.set('sync-configs', configId);
  foreign.set('sync-runs', runId);
}

beforeAll(async () => {
  database = await testDatabase();
  app = createApp(database.ctx);
  const organization = await makeOrganization(database.ctx);
  owner = apiOf(app, (await makeKey(database.ctx, organization.id, { permissions: ['write'] })).secret);
  const member = await makeMember(database.ctx, organization.id, []);
  const weak = await makeKey(database.ctx, organization.id, { permissions: ['write'], createdBy: member.id });
  powerless = apiOf(app, weak.secret);
  await makeForeignObjects((await makeOrganization(database.ctx)).id);
});
afterAll(() => database.close());

describe('routes', () => {
  it('are public only where this list says so', () => {
    expect(platformRoutes.filter(({ access }) => access === 'public').map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /openapi',
    ]);
  });

  it('name permissions that exist', () => {
    for (const { permission } of guarded) if (permission !== 'any') expect(allPermissions).toContain(permission);
    expect(guarded.filter(({ permission }) => permission === 'any').map(({ id }) => id)).toEqual(['getWhoAmI']);
  });

  it('need more than :read for whatever writes', () => {
    const reading = guarded.filter(({ method, permission }) => method !== 'GET' && permission.endsWith(':read')).map(({ id }) => id);
    expect(reading).toEqual(['validateApiSchema']);
  });
});

describe.each(named(guarded))('%s', (_name, route) => {
  it('401 without a credential', async () => {
    const answer = await apiOf(app, null)(methodOf(route), pathOf(route));
    // The first twenty failures of a minute are 401; what comes after is told apart in rate-limit.test.ts.
    await database.ctx.db.control.raw('delete from rate_limits');
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.body.error).toMatchObject({ code: 'UNAUTHORIZED', requestId: answer.headers['x-request-id'] });
  });

  it('403 without its permission', async () => {
    const answer = await powerless(methodOf(route), pathOf(route));
    if (route.permission === 'any') return expect(answer.status).toBe(200);
    expect(answer.status).toBe(403);
    expect(answer.body.error).toMatchObject({ code: 'FORBIDDEN', message: `Missing required permission: ${route.permission}` });
  });

  it('400 for an unknown query parameter, 422 for an unknown field', async () => {
    const query = await owner(methodOf(route), `${pathOf(route)}?unheard_of=1`);
    expect([query.status, query.body.error.code]).toEqual([400, 'BAD_REQUEST']);
    expect(query.body.error.details).toContainEqual({ path: 'unheard_of', code: 'unknown_field', message: 'unheard_of is not known here' });
    if (route.method === 'GET') return;
    const body = await owner(methodOf(route), pathOf(route), { unheard_of: 1, name: 'x' });
    expect([body.status, body.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.body.error.details).toContainEqual({ path: 'unheard_of', code: 'unknown_field', message: 'unheard_of is not known here' });
  });

  it('400 for malformed JSON, 415 for another content type, 413 for more than a megabyte', async () => {
    if (route.method === 'GET') return;
    const malformed = await owner(methodOf(route), pathOf(route), '{"name":');
    expect([malformed.status, malformed.body.error.code]).toEqual([400, 'BAD_REQUEST']);
    expect(codesOf(malformed)).toEqual(['malformed_json']);
    const typed = await owner(methodOf(route), pathOf(route), 'name=x', { 'content-type': 'text/plain' });
    expect(typed.status).toBe(400);
    const form = await supertestForm(route);
    expect([form.status, form.body.error.code]).toEqual([415, 'BAD_REQUEST']);
    const large = await owner(methodOf(route), pathOf(route), JSON.stringify({ name: 'x'.repeat(1024 * 1024) }));
    expect([large.status, large.body.error.code]).toEqual([413, 'BAD_REQUEST']);
  });

  it('405 for another method', async () => {
    const answers = await Promise.all(
      (['get', 'post', 'put', 'patch', 'delete'] as const).map((method) => owner(method, pathOf(route), '{"?":1}')),
    );
    for (const answer of answers) {
      if (answer.status !== 405) continue;
      expect(answer.headers['allow']?.split(', ')).toContain(route.method);
      expect(answer.body.error.code).toBe('BAD_REQUEST');
    }
    expect(answers.some(({ status }) => status === 405)).toBe(true);
    expect(Math.max(...answers.map(({ status }) => status))).toBeLessThan(500);
  });

  it('never fails by itself, whatever is sent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.string()), fc.json({ noUnicodeString: false }), async (query, body) => {
        const search = new URLSearchParams(query).toString();
        const answer = await owner(methodOf(route), `${pathOf(route)}?${search}`, route.method === 'GET' ? undefined : body);
        expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500);
      }),
      { numRuns: 8 },
    );
  });
});

const supertestForm = async (route: Route) => {
  const request = supertest(app)[methodOf(route)](`${base}${pathOf(route)}`);
  const { secret } = await currentKey();
  return request.set({ authorization: `Bearer ${secret}`, 'content-type': 'application/x-www-form-urlencoded' }).send('name=x');
};
let formKey: Promise<{ secret: string }> | undefined;
const currentKey = () =>
  (formKey ??= makeOrganization(database.ctx).then(({ id }) => makeKey(database.ctx, id, { permissions: ['write'] })));

describe.each(named(lists))('the list %s', (_name, route) => {
  it('400 for a page or page size outside its bounds', async () => {
    const id = await ownIdFor(route);
    for (const query of [
      'pageSize=0',
      'pageSize=101',
      'pageSize=abc',
      'pageSize=-1',
      'pageSize=1.5',
      'pageSize=',
      'page=0',
      'page=9999999999',
      'page=1&page=2',
    ]) {
      const answer = await owner('get', `${pathOf(route, id)}?${query}`);
      expect([query, answer.status, answer.body.error?.code]).toEqual([query, 400, 'BAD_REQUEST']);
    }
  });

  it('shows 25 by default, up to 100, and nothing beyond the end', async () => {
    const id = await ownIdFor(route);
    const [first, most, beyond] = await Promise.all(
      ['', '?pageSize=100', '?page=999999999&pageSize=100'].map((query) => owner('get', `${pathOf(route, id)}${query}`)),
    );
    expect([first?.status, most?.status, beyond?.status]).toEqual([200, 200, 200]);
    expect(first?.body.pagination).toMatchObject({ page: 1, pageSize: 25 });
    expect(most?.body.pagination.pageSize).toBe(100);
    expect(beyond?.body.data).toEqual([]);
    expect(beyond?.body.pagination.total).toBe(first?.body.pagination.total);
  });
});

/** An object of the caller's own for lists below one. */
async function ownIdFor(route: Route): Promise<string> {
  if (!route.path.includes('{id}')) return '';
  const who = await owner('get', '/whoami');
  const organizationId: string = who.body.organization.id;
  if (route.path.startsWith('/organizations/')) return organizationId;
  if (route.path.startsWith('/teams/')) return (await owner('post', '/teams', { name: newId() })).body.id;
  return database.ctx.db.control.transaction(async (tx) => {
    await tx.raw("select set_config('portal.organization_id', ?, true)", [organizationId]);
    const held = await tx('sync_configs').first<{ id: string } | undefined>('id');
    const configId = held?.id ?? newId();
    const config = { id: configId, organization_id: organizationId, name: 'own', record_type: 'invoice', mode: 'full', deletions: 'none' };
    if (held === undefined) await tx('sync_configs').insert(config);
    if (route.path.startsWith('/sync-configs')) return configId;
    const run = {
      id: newId(),
      organization_id: organizationId,
      sync_config_id: configId,
      record_type: 'invoice',
      mode: 'full',
      trigger: 'manual',
    };
    await tx('sync_runs').insert({ ...run, status: 'failed' });
    return run.id;
  });
}

describe.each(named(withId))('%s', (_name, route) => {
  /** A body that the schema lets through, so that only the object's absence can refuse. */
  const least = route.body?.safeParse({}).success === false ? route.example : {};
  const body = route.method === 'GET' || route.method === 'DELETE' ? undefined : least;

  it('400 for an id that is none', async () => {
    for (const id of ['1', 'x'.repeat(300), '%00', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '..%2f..']) {
      const answer = await owner(methodOf(route), pathOf(route, id), body);
      expect([id, answer.status]).toEqual([id, 400]);
    }
    expect((await owner(methodOf(route), pathOf(route, '%E0%A4%A'), body)).status).toBe(400);
  });

  it("answers another organization's id as an unknown one", async () => {
    const foreignId = foreign.get(route.path.split('/')[1] ?? '') ?? '';
    expect(foreignId).not.toBe('');
    const [theirs, unknown] = [
      await owner(methodOf(route), pathOf(route, foreignId), body),
      await owner(methodOf(route), pathOf(route), body),
    ];
    expect([theirs.status, unknown.status]).toEqual([404, 404]);
    const without = ({ body: { error } }: typeof theirs) => ({ ...error, requestId: '' });
    expect(without(theirs)).toEqual(without(unknown));
    expect(JSON.stringify(theirs.body)).not.toContain(foreignId);
    expect(Object.keys(theirs.headers).sort()).toEqual(Object.keys(unknown.headers).sort());
  });
});

describe('addresses', () => {
  it('404 for one that is not there, 401 before that', async () => {
    expect((await owner('get', '/nothing-here')).body.error).toMatchObject({ code: 'NOT_FOUND' });
    expect((await apiOf(app, null)('get', '/nothing-here')).status).toBe(401);
    await database.ctx.db.control.raw('delete from rate_limits');
  });

  it('answer HEAD as GET without a body', async () => {
    const answer = await owner('head', '/whoami');
    expect([answer.status, answer.text]).toEqual([200, undefined]);
    expect((await owner('head', '/openapi')).status).toBe(200);
    expect((await owner('get', '/openapi?unheard_of=1')).status).toBe(400);
  });

  it('name every method in Allow', async () => {
    const answer = await owner('delete', '/netsuite/metadata/refresh');
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'GET, POST, HEAD']);
    expect((await owner('post', '/openapi')).headers['allow']).toBe('GET, HEAD');
  });
});
