// Every operation with every role: a cell that lets somebody in by mistake, or shuts somebody out, is a failure.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSession } from '../setup/organization.ts';
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
    60_000,
  );
});

describe('a person without an organization', () => {
  it.each(guarded.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', async (_name, route) => {
    const { rows } = await walk.ctx.db.control.raw<{ rows: { id: string }[] }>(
      "select ensure_user(gen_random_uuid(), 'nobody@example.test', '') as id",
    );
    const session = await makeSession(walk.ctx, rows[0]?.id ?? '');
    const found = walk.builderOf(route);
    const answer = await walk.send(route, (await found?.builder.build(await found.site())) ?? {}, sessionCredential(walk.ctx, session));
    const refused = answer.status === 403 && answer.body.error.message === 'You belong to no organization';
    expect([answer.status === 401, refused]).toEqual([false, route.access === 'credential']);
  });
});
