// Every operation with every role: access that is wrongly allowed or wrongly denied is a failure.
import { describe, expect, it } from 'vitest';
import { makePerson, makeSession } from '../setup/organization.ts';
import { rolesMatrix } from './rules/roles.ts';
import { guardedRoutes, named, sessionCredential, useWalk } from './walk.ts';

const routes = named(guardedRoutes());
const walk = useWalk();

describe('roles', () => {
  it.each(routes)('%s', async (_name, route) => expect(await rolesMatrix(walk, route)).toEqual([]));
});

describe('a person without an organization', () => {
  it.each(routes)('%s', async (_name, route) => {
    const { id } = await makePerson(walk.ctx, `nobody-${route.id.toLowerCase()}@example.test`);
    const { builder, site } = walk.getBuilder(route);
    const sent = route.access === 'credential' ? {} : await builder.build(await site());
    const credential = sessionCredential(walk.ctx, await makeSession(walk.ctx, id));
    const answer = await walk.send(route, sent, credential);
    const refused = answer.status === 403 && answer.body.error.message === 'You belong to no organization';
    expect([answer.status === 401, refused]).toEqual([false, route.access === 'credential']);
  });
});
