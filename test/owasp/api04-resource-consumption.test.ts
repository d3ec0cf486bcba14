// API4:2023 Unrestricted resource consumption. Bodies, nesting and compressed bodies: test/http/errors;
// connections: test/http/connections; pages: test/contract/every-route; overload of the public interface:
// test/public/overload; rate limits: test/http/rate-limit. Here: everything that can be created has a quota,
// and everything that a caller sends has a bound in its schema.
import { describe, expect, it } from 'vitest';
import { defaultQuotas, type QuotaKind } from '../../src/core/settings/quotas.ts';
import type { Route } from '../../src/http/route/route.ts';
import { describePlatform } from '../../src/platform/index.ts';
import { authorizedCaller, getRoute, guardedRoutes, useWalk } from '../contract/walk.ts';

/** The quota that each creating operation counts against. */
const makes: Readonly<Record<string, QuotaKind>> = {
  createInvitation: 'invitations',
  createDomain: 'domains',
  createRole: 'roles',
  createTeam: 'teams',
  createSyncConfig: 'syncs',
  createErpQuery: 'queries',
  createView: 'views',
  createViewLink: 'viewLinks',
  createSubscription: 'subscriptions',
  createApiKey: 'apiKeys',
  createConnection: 'connections',
  createConnectionQuery: 'queries',
  createWebhook: 'webhooks',
  createApiSchema: 'apiSchemas',
  createApiSchemaVersion: 'apiSchemas',
  createAgent: 'agents',
  createConversation: 'conversations',
  createCheckout: 'checkouts',
  createFieldMapping: 'fieldMappings',
  createPage: 'pages',
  createTemplate: 'templates',
  createPortalVisitor: 'visitors',
};
/** Created as well, but bounded by something else. */
const otherwise: Readonly<Record<string, string>> = {
  createOrganization: 'by the organizations of a person: see below',
  addTeamMember: 'members times teams, once each',
  createErpCertificate: 'there are two slots',
  createConnectionCertificate: 'there are two slots',
  mintApiKeyTokens: 'not stored, and ends within an hour',
  rotateApiKey: 'takes the place of another one',
  createMessage: 'by credits',
  viewPortalAsVisitor: 'the code is not stored, and opens a session of 30 minutes once',
};

const most: Record<QuotaKind, number> = { ...defaultQuotas };
const walk = useWalk({ settings: { quotas: most } });

const creating = guardedRoutes().filter(({ method, status }) => method === 'POST' && status === 201);

describe('everything that can be created', () => {
  it('has a quota, every kind of it', () => {
    expect(creating.map(({ id }) => id).sort()).toEqual(
      [...Object.keys(makes), ...Object.keys(otherwise)].sort(),
    );
    expect([...new Set(Object.values(makes)), 'members'].sort()).toEqual(Object.keys(defaultQuotas).sort());
  });

  const bounded = creating.flatMap((route): [string, Route, QuotaKind][] => {
    const kind = makes[route.id];
    return kind === undefined ? [] : [[route.id, route, kind]];
  });
  it.each(bounded)('%s: 422 at the quota, and one more succeeds below it', async (_id, route, kind) => {
    const { builder, site: openSite } = walk.getBuilder(route);
    const site = await openSite();
    const sent = await builder.build(site);
    const ask = () => walk.send(route, sent, authorizedCaller(route, site));
    most[kind] = 0;
    try {
      const refused = await ask();
      const things = kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
      const message = `An organization may have at most 0 ${things}. Delete one first.`;
      const details = [{ path: '', code: 'limit_reached', message }];
      expect([refused.status, refused.body.error]).toMatchObject([
        422,
        { code: 'VALIDATION_ERROR', details },
      ]);
    } finally {
      most[kind] = defaultQuotas[kind];
    }
    expect((await ask()).status).toBe(201);
  });

  it('never exceeds the quota under concurrency', async () => {
    const route = getRoute('createTeam');
    const { builder, foreign } = walk.getBuilder(route);
    const site = await foreign();
    const [row] = await site.sql((tx) => tx('teams').count<{ count: string }[]>({ count: '*' }));
    most.teams = Number(row?.count) + 2;
    const bodies = await Promise.all(Array.from({ length: 6 }, () => builder.build(site)));
    const answers = await Promise.all(
      bodies.map((sent) => walk.send(route, sent, authorizedCaller(route, site))),
    );
    most.teams = defaultQuotas.teams;
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 422, 422, 422, 422]);
  });
});

type Shape = {
  type?: string;
  format?: string;
  enum?: unknown[];
  pattern?: string;
  maxLength?: number;
  maxItems?: number;
  maximum?: number;
  items?: Shape;
  properties?: Record<string, Shape>;
  additionalProperties?: Shape | boolean;
  $ref?: string;
} & { [key in 'anyOf' | 'oneOf' | 'allOf']?: Shape[] };

describe('everything that is sent', () => {
  const document = describePlatform('http://127.0.0.1') as unknown as {
    paths: Record<
      string,
      Record<string, { operationId?: string; requestBody?: { content: Record<string, { schema: Shape }> } }>
    >;
    components: { schemas: Record<string, Shape> };
  };
  const seen = new Set<string>();
  /**
   * Nested repetition makes a regular expression exponential, unless each repetition starts with a character
   * that is nowhere else in it.
   */
  const nested = /\((?:\?:)?(?!-|\[[-.]+\])(?:[^()\\]|\\.)*[+*](?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,\})/;
  const endless = /[+*]|\{\d+,\}/;
  const shortFormats = new Set(['uuid', 'date', 'date-time', 'email', 'uri']);

  function unbounded(shape: Shape, at: string): string[] {
    if (shape.$ref !== undefined) {
      const name = shape.$ref.split('/').at(-1) ?? '';
      if (seen.has(name)) return [];
      seen.add(name);
      return unbounded(document.components.schemas[name] ?? {}, name);
    }
    const parts = [...(shape.anyOf ?? []), ...(shape.oneOf ?? []), ...(shape.allOf ?? [])];
    const problems = parts.flatMap((part) => unbounded(part, at));
    if (shape.pattern !== undefined && nested.test(shape.pattern))
      problems.push(`${at}: ${shape.pattern} repeats within a repeat`);
    const isShort =
      shape.enum !== undefined || shape.maxLength !== undefined || shortFormats.has(shape.format ?? '');
    if (shape.type === 'string' && !isShort && (shape.pattern === undefined || endless.test(shape.pattern)))
      problems.push(`${at}: a text of any length`);
    if (shape.type === 'array') {
      if (shape.maxItems === undefined) problems.push(`${at}: items without end`);
      problems.push(...unbounded(shape.items ?? {}, `${at}[]`));
    }
    for (const [name, inner] of Object.entries(shape.properties ?? {}))
      problems.push(...unbounded(inner, `${at}.${name}`));
    if (typeof shape.additionalProperties === 'object')
      problems.push(...unbounded(shape.additionalProperties, `${at}.*`));
    return problems;
  }

  it('has a maximum size: every text, list and expression', () => {
    const worst: Shape = { type: 'array', items: { type: 'string', pattern: '^(a+b?)+$' } };
    expect(unbounded(worst, 'x')).toEqual([
      'x: items without end',
      'x[]: ^(a+b?)+$ repeats within a repeat',
      'x[]: a text of any length',
    ]);
    const bodies = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ operationId = '', requestBody }) =>
        Object.values(requestBody?.content ?? {}).map(({ schema }) => [operationId, schema] as const),
      );
    expect(bodies.length).toBeGreaterThan(40);
    expect(bodies.flatMap(([id, schema]) => unbounded(schema, id))).toEqual([]);
  });
});
