// Rules that hold for every operation of the management interface, tested by walking over the route values.
import { describe, expect, it } from 'vitest';
import { assignablePermissions } from '../../src/core/permissions.ts';
import type { Route } from '../../src/http/route/route.ts';
import { platformBase } from '../../src/http/served.ts';
import { platformRoutes } from '../../src/platform/index.ts';
import { builderGroups } from './builders/all.ts';
import {
  foreignIds,
  idFields,
  idNames,
  malformedParameters,
  otherMethods,
  pages,
  pagesOutOfBounds,
  pathForm,
  unknownNames,
  unreadableBodies,
  withoutCredential,
} from './rules/requests.ts';
import { leakedSecrets, repeated, successResponse } from './rules/responses.ts';
import { guardedRoutes, isWrite, named, useWalk } from './walk.ts';

const guarded = guardedRoutes();
const walk = useWalk();

describe('routes', () => {
  it('have a builder each, and each builder a route', () => {
    const built = builderGroups.flatMap(({ builders }) => Object.keys(builders));
    expect(built.sort()).toEqual(guarded.map(({ id }) => id).sort());
  });

  it('are public only if they are on this list', () => {
    expect(
      platformRoutes
        .filter(({ access }) => access === 'public')
        .map(({ method, path }) => `${method} ${path}`),
    ).toEqual(['POST /pay/webhooks/{provider}/{endpointId}', 'GET /openapi']);
  });

  it('name permissions that exist', () => {
    const ofOrganization = guarded.filter(
      ({ access, permission }) => access === 'credential' && permission !== 'any',
    );
    const ofMembers = ofOrganization.filter(({ permission }) => permission === 'authenticated');
    expect(ofMembers.map(({ id }) => id)).toEqual(['getOverview']);
    for (const route of ofOrganization)
      if (!ofMembers.includes(route)) expect(assignablePermissions).toContain(route.permission);
    expect(guarded.filter(({ permission }) => permission === 'any').map(({ id }) => id)).toEqual([
      'getWhoAmI',
    ]);
  });

  it('need more than :read for every write', () => {
    const reading = guarded
      .filter(({ method, permission }) => method !== 'GET' && permission.endsWith(':read'))
      .map(({ id }) => id);
    expect(reading).toEqual(['createViewLink', 'deleteViewLink', 'validateApiSchema']);
    // Of these, the two that write are refused for credentials that can only read.
    expect(guarded.filter(({ writes }) => writes === true).map(({ id }) => id)).toEqual(reading.slice(0, 2));
  });
});

describe.each(named(guarded))('%s', (_name, route) => {
  it('401 without a credential', async () => expect(await withoutCredential(walk, route)).toEqual([]));
  it('responds as described, and a write leaves one audit row', async () =>
    expect(await successResponse(walk, route)).toEqual([]));
  it('400 for an unknown query parameter, 422 for an unknown field', async () =>
    expect(await unknownNames(walk, route)).toEqual([]));
});

const paths = [...new Map(guarded.map((route) => [pathForm(route.path), route])).values()];
describe.each(paths.map((route) => [route.path, route] as const))('%s', (_path, route) => {
  it('405 for the methods that it does not have', async () =>
    expect(await otherMethods(walk, route, guarded)).toEqual([]));
});

describe.each(named(guarded.filter(({ method }) => method !== 'GET')))('%s', (_name, route) => {
  it('400 for malformed JSON, 415 for another content type, 413 for more than a megabyte', async () =>
    expect(await unreadableBodies(walk, route)).toEqual([]));
});

describe.each(named(guarded.filter(({ method }) => method === 'POST')))('%s', (_name, route) => {
  it('replays the stored response for a repeated Idempotency-Key', async () =>
    expect(await repeated(walk, route)).toEqual([]));
});

describe.each(named(guarded.filter(({ query }) => 'pageSize' in (query?.shape ?? {}))))(
  'the list %s',
  (_name, route) => {
    it('400 for a page or page size outside its bounds', async () =>
      expect(await pagesOutOfBounds(walk, route)).toEqual([]));
    it('shows 25 by default, up to 100, and nothing beyond the end', async () =>
      expect(await pages(walk, route)).toEqual([]));
  },
);

const naming = guarded.filter(
  (route) => [idNames(route), idFields(route, 'query'), idFields(route, 'body')].flat().length > 0,
);
describe.each(named(naming))('%s', (_name, route) => {
  it('400 for a malformed id', async () => expect(await malformedParameters(walk, route)).toEqual([]));
  it("treats another organization's id like an unknown one", async () =>
    expect(await foreignIds(walk, route)).toEqual([]));
});

describe('secrets', () => {
  it('were returned, and are in no row and no log line', async () => {
    expect(guarded.some((route) => isWrite(route) && route.shownOnce !== undefined)).toBe(true);
    expect(walk.secrets.size).toBeGreaterThan(10);
    expect(walk.lines.length).toBeGreaterThan(100);
    expect(await leakedSecrets(walk)).toEqual([]);
  });
});

describe('paths', () => {
  const ask = async (method: string, path: string, credential = true) => {
    const { key } = await walk.getBuilder(guarded[0] as Route).site();
    const headers = credential ? { ...key } : {};
    return walk.server.send({ method, path: `${platformBase}${path}`, headers });
  };

  it('404 for an unknown path, after 401 for a missing credential', async () => {
    expect((await ask('GET', '/nothing-here')).body.error).toMatchObject({ code: 'NOT_FOUND' });
    expect((await ask('GET', '/nothing-here', false)).status).toBe(401);
    await walk.ctx.db.control.raw('delete from rate_limits');
  });

  it('400 for a malformed escape', async () => {
    expect((await ask('GET', '/api-keys/%E0%A4%A')).status).toBe(400);
    expect((await ask('GET', '/api-keys/%00')).status).toBe(400);
  });

  it('serve the OpenAPI document to anyone, by GET and HEAD only', async () => {
    expect((await ask('HEAD', '/openapi', false)).status).toBe(200);
    expect((await ask('GET', '/openapi?unheard_of=1')).status).toBe(400);
    expect((await ask('POST', '/openapi')).headers.allow).toBe('GET, HEAD');
  });

  it('name every method in Allow', async () => {
    const answer = await ask('DELETE', '/netsuite/metadata/refresh');
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, POST, HEAD']);
  });
});
