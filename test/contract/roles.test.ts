// Every operation with every role: access that is wrongly allowed or wrongly denied is a failure.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePerson, makeSession } from '../setup/organization.ts';
import { rolesMatrix } from './rules/roles.ts';
import { guardedRoutes, openWalk, sessionCredential, type Walk } from './walk.ts';

const guarded = guardedRoutes();

let walk: Walk;
beforeAll(async () => {
  walk = await openWalk();
});
afterAll(() => walk.close());

describe('roles', () => {
  it.each(guarded.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s',
    async (_name, route) => {
      expect(await rolesMatrix(walk, route)).toEqual([]);
    },
  );
});

describe('a person without an organization', () => {
  it.each(guarded.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s',
    async (_name, route) => {
      const session = await makeSession(
        walk.ctx,
        (await makePerson(walk.ctx, `nobody-${route.id.toLowerCase()}@example.test`)).id,
      );
      const found = walk.findBuilder(route);
      const sent = route.access === 'credential' ? {} : await found?.builder.build(await found.site());
      const answer = await walk.send(route, sent ?? {}, sessionCredential(walk.ctx, session));
      const refused = answer.status === 403 && answer.body.error.message === 'You belong to no organization';
      expect([answer.status === 401, refused]).toEqual([false, route.access === 'credential']);
    },
  );
});
