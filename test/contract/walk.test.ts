// The rules themselves must be able to fail: operations that break one rule each make the same walk fail.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { invalid } from '../../src/core/errors.ts';
import { createId } from '../../src/core/id.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { Id, IdParams } from '../../src/http/fields.ts';
import { describeRoutes } from '../../src/http/openapi/describe-routes.ts';
import { definePersonRoute, defineRoute } from '../../src/http/route/define.ts';
import type { Route, Ungrouped } from '../../src/http/route/route.ts';
import { writeAudit } from '../../src/identity/audit.store.ts';
import { inUserTransaction } from '../../src/identity/sessions.store.ts';
import { platformRoutes } from '../../src/platform/index.ts';
import type { Builder } from './builder.ts';
import { checkInputs } from './rules/inputs.ts';
import { foreignIds, pages, unknownNames, withoutCredential } from './rules/requests.ts';
import { leakedSecrets, repeated, successResponse } from './rules/responses.ts';
import { rolesMatrix } from './rules/roles.ts';
import { useWalk, type WalkOptions } from './walk.ts';

const common = { permission: 'team:create', summary: 'For this test' } as const;
const inTeams = (route: Ungrouped<Route>): Route => ({ ...route, group: 'Teams' });
const body = z.strictObject({ name: z.string().min(1).max(40), size: z.int().min(0).max(99).optional() });
const response = z.object({ id: Id, name: z.string() });
const named = { name: 'Example', secret: 'example-5ecret' };
const built: Builder = { build: () => ({ body: { name: 'Example' } }) };

const post = (
  id: string,
  handler: Parameters<typeof defineRoute<undefined, undefined, typeof body, typeof response>>[2]['handler'],
) =>
  inTeams(
    defineRoute(id, `POST /${id}`, {
      ...common,
      body,
      example: { name: 'x' },
      response,
      status: 201,
      handler,
    }),
  );
type Handled = Parameters<Parameters<typeof post>[1]>[0];
const audited = (ctx: Handled, changes: object = {}) =>
  inTransaction(ctx, (tx) => writeAudit(tx, ctx, 'team.create', ['team', null], { ...changes }));
const good = (name: string) => ({ id: createId(), name });

const sound = post('sound', async (ctx, input) => (await audited(ctx), good(input.body.name)));
const throwing = post('throwing', async () => {
  throw new Error('on purpose');
});
const sometimes = post('sometimes', async (ctx, input) => {
  if ((input.body.size ?? 0) > 50) throw new Error('on purpose');
  await audited(ctx);
  return good(input.body.name);
});
const silent = post('silent', async (_ctx, input) => good(input.body.name));
const telling = post(
  'telling',
  async (ctx, input) => (await audited(ctx, { credential: named.secret }), good(input.body.name)),
);
const picky = post('picky', async (ctx, input) => {
  if (input.body.size === undefined || input.body.size > 10) throw invalid('On purpose', []);
  await audited(ctx);
  return good(input.body.name);
});
/** Admits everyone and accepts anything: `invoke` without its first two steps. */
const open: Route = {
  ...post('open', async (_ctx, input) => good(String(input.body.name))),
  permission: 'any',
  parse: (raw) => raw,
};
const claimed: Route = { ...open, id: 'open', permission: 'team:create' };
const undescribed = post('undescribed', async (ctx, input) => (await audited(ctx), good(input.body.name)));
const leaking = inTeams(
  defineRoute('leaking', 'GET /leaking/{id}', {
    ...common,
    permission: 'team:read',
    params: IdParams,
    response,
    // For any caller and any id.
    handler: async (_ctx, { params }) => ({ id: params.id, name: 'x' }),
  }),
);
const unpaged = inTeams(
  defineRoute('unpaged', 'GET /unpaged', {
    ...common,
    permission: 'team:read',
    response,
    handler: async () => good('x'),
  }),
);

const personal = (['authenticated', 'signed-in', 'organization:create'] as const).map((permission) => {
  const id = `as-${permission.replace(':', '-')}`;
  const posted = { body, response, status: 201 } as const;
  const handler = async (_ctx: unknown, input: { body: { name: string } }) => good(input.body.name);
  return inTeams(definePersonRoute(id, `POST /${id}`, { ...common, ...posted, permission, handler }));
});
const slackPerson = inTeams(
  definePersonRoute('slack', 'GET /slack', {
    ...common,
    permission: 'authenticated',
    handler: async () => undefined,
  }),
);
const strictPerson: Route = { ...slackPerson, permission: 'signed-in' };
/** Ends the session or key that calls it. */
const ending = inTeams(
  definePersonRoute('ending', 'DELETE /ending', {
    ...common,
    permission: 'signed-in',
    handler: async (ctx) => {
      await inUserTransaction(ctx, ctx.caller.user.id, (tx) => tx('sessions').delete());
    },
  }),
);

const served = [
  ...[sound, throwing, sometimes, silent, telling, picky, open, undescribed, leaking, unpaged],
  ...[...personal, slackPerson, ending],
];
const groups = Object.fromEntries(platformRoutes.map(({ group }) => [group, group])) as Parameters<
  typeof describeRoutes
>[1]['groups'];

const buildSite = (): NonNullable<WalkOptions['instead']> => {
  const documented = served.map((route) =>
    route === undescribed ? { ...route, response: z.object({ id: Id }) } : route,
  );
  const described = describeRoutes(documented, {
    title: 'Test',
    version: '1',
    description: 'Test',
    serverUrl: 'http://127.0.0.1',
    sessionCookie: 'portal_session',
    groups,
  });
  const builders = {
    ...Object.fromEntries(served.map(({ id }) => [id, built])),
    leaking: { build: async ({ organization }) => ({ params: { id: organization.id } }) },
    ...Object.fromEntries(personal.map(({ id }) => [id, { ...built, auditRows: 0 }])),
    slack: { build: () => ({}) },
    ending: { build: () => ({}), auditRows: 0, destroys: true },
    unpaged: { build: () => ({}) },
    picky: { build: () => ({ body: { name: 'x', size: 1 } }) },
  } satisfies Record<string, Builder>;
  return { routes: served, groups: [{ builders }], described };
};
const instead = buildSite();
const walk = useWalk({ instead });
/** The same while sign-up is closed. */
const closed = useWalk({ instead, allowSignup: false });

const text = async (problems: Promise<string[]>): Promise<string> => (await problems).join('\n');

describe('a sound operation', () => {
  it('passes every rule', async () => {
    for (const rule of [withoutCredential, successResponse, unknownNames, repeated, rolesMatrix, foreignIds])
      expect(await rule(walk, sound)).toEqual([]);
    expect((await checkInputs(walk, sound, 1)).failures).toEqual([]);
  });
});

describe('operations of a person', () => {
  it.each(personal)('$permission', async (route) => {
    for (const rule of [withoutCredential, successResponse, unknownNames, repeated, rolesMatrix])
      expect(await rule(walk, route)).toEqual([]);
    expect((await checkInputs(walk, route, 1)).failures).toEqual([]);
  });

  it('check whether sign-up is open if they create an organization', async () => {
    const creating = personal.filter(({ permission }) => permission === 'organization:create');
    for (const route of creating) {
      expect(await rolesMatrix(closed, route)).toEqual([]);
      expect(await text(successResponse(closed, route))).toContain(
        'Missing required permission: organization:create',
      );
    }
    expect(creating).toHaveLength(1);
  });

  it('may end the credential that calls them', async () => {
    for (const rule of [successResponse, rolesMatrix]) expect(await rule(walk, ending)).toEqual([]);
    expect((await checkInputs(walk, ending, 1)).failures).toEqual([]);
  });

  it('fail the walk if they admit a key', async () => {
    expect(await text(rolesMatrix(walk, strictPerson))).toContain("owner's key is answered 204");
  });
});

describe('the walk fails', () => {
  it('for a handler that throws', async () => {
    expect(await text(successResponse(walk, throwing))).toContain('answered 500');
    expect(await text(rolesMatrix(walk, throwing))).toContain("owner's key is answered 500");
    expect((await checkInputs(walk, throwing, 1)).failures.join()).toContain('answered 500');
  });

  it('for a handler that throws for some inputs only', async () => {
    expect(await successResponse(walk, sometimes)).toEqual([]);
    expect((await checkInputs(walk, sometimes, 1)).failures.join()).toContain('answered 500');
  });

  it('for an operation that rejects what its schema allows', async () => {
    expect((await checkInputs(walk, picky, 1)).failures.join()).toContain('valid inputs were answered well');
  });

  it('for a write without an audit row', async () =>
    expect(await text(successResponse(walk, silent))).toContain('left 0 rows in the audit log'));

  it('for a secret in the audit log', async () => {
    walk.secrets.add(named.secret);
    expect(await text(successResponse(walk, telling))).toContain('its audit row holds a secret');
    expect(await text(leakedSecrets(walk))).toContain('the database holds');
    walk.secrets.delete(named.secret);
  });

  it('for an operation that admits everyone or accepts anything', async () => {
    expect(await text(rolesMatrix(walk, claimed))).toContain("viewer's key is answered 201");
    expect(await text(unknownNames(walk, open))).toContain('an unknown field is answered 201');
    expect((await checkInputs(walk, open, 1)).failures.join()).toContain('answered 201 for the forbidden');
  });

  it('for a response that is not as described', async () =>
    expect(await text(successResponse(walk, undescribed))).toContain('201 breaks its description'));

  it("for another organization's object", async () =>
    expect(await text(foreignIds(walk, leaking))).toContain('an unknown id is answered 200'));

  it('for a list without pages', async () =>
    expect(await text(pages(walk, unpaged))).toContain('its pages are'));

  it('for an operation without a builder, with a hint what to write', async () => {
    const orphan = post('orphan', async (_ctx, input) => good(input.body.name));
    await expect(successResponse(walk, orphan)).rejects.toThrow(
      'orphan (POST /orphan) has no builder: add `orphan: { build:',
    );
  });
});
