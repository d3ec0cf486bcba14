// The environment of the rules: the operations on one listening server, an organization per group of
// builders, and another organization whose ids must behave like unknown ids. Rules return their failures as
// values, so that a test can show that they fail.
import express, { type Express } from 'express';
import type { Knex } from 'knex';
import { afterAll, beforeAll } from 'vitest';
import { createDataFolder } from '../../packages/netsuite-simulator/test/test-account.ts';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createLog } from '../../src/core/log.ts';
import type { Settings } from '../../src/core/settings.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { errorHandler } from '../../src/http/errors.ts';
import { createFailureLimit } from '../../src/http/failure-limit.ts';
import { pendingHeadersMiddleware } from '../../src/http/pending-headers.ts';
import { requestLog } from '../../src/http/request-log.ts';
import type { AnyRoute, Route } from '../../src/http/route/route.ts';
import { createRouteRouter } from '../../src/http/router.ts';
import { platformBase } from '../../src/http/served.ts';
import { describePlatform, platformRoutes } from '../../src/platform/index.ts';
import { withReads } from '../public/fixture.ts';
import { testDatabase, testSettings } from '../setup/database.ts';
import { startDns } from '../setup/dns.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization, makeSession } from '../setup/organization.ts';
import type { Builder, BuilderGroup, Fixture, Sent } from './builder.ts';
import { builderGroups } from './builders/all.ts';
import { type Description, openDescription } from './description.ts';
import { type Answer, listen, type Server } from './http.ts';

/** Authentication headers; empty for an unauthenticated request. */
export type Credential = Readonly<Record<string, string>>;
export const unauthenticated: Credential = {};
export const keyCredential = (secret: string): Credential => ({ authorization: `Bearer ${secret}` });
/** A session is accepted from pages of this service only, so it is sent with their origin. */
export const sessionCredential = (ctx: Ctx, { cookie }: { cookie: string }): Credential => ({
  cookie,
  origin: new URL(ctx.settings.publicUrl).origin,
});

export type Site = Fixture & { readonly key: Credential; readonly session: Credential };

export type Prepared = {
  readonly builder: Builder;
  /** The group's own fixture, or a new one each time if the operation destroys it. */
  site(): Promise<Site>;
  foreign(): Promise<Site>;
  /** Made once, for all requests that must be refused: they change nothing. */
  toRefuse(): Promise<{ readonly site: Site; readonly sent: Sent }>;
};

export type Walk = {
  readonly ctx: Ctx;
  readonly description: Description;
  readonly server: Server;
  readonly lines: string[];
  /** Secrets that the walk sent or received: none may be found anywhere. */
  readonly secrets: Set<string>;
  /** Throws an Error that says what to write where there is no builder. */
  getBuilder(route: Route): Prepared;
  send(route: Route, sent: Sent, credential: Credential, extra?: Partial<Raw>): Promise<Answer>;
  /** Audit log rows of a request, in any organization. */
  auditRows(requestId: string): Promise<AuditRow[]>;
  /** Every row of every table of the service, as text. */
  storedText(): Promise<string>;
  close(): Promise<void>;
};
/** What a rule may send instead of a client's usual request. */
export type Raw = { method: string; headers: Record<string, string>; body: string; search: string };

export const guardedRoutes = (routes: readonly AnyRoute[] = platformRoutes): Route[] =>
  routes.filter((route): route is Route => route.access !== 'public');

/** Throws an Error if there is no such operation. */
export function getRoute(id: string): Route {
  const found = guardedRoutes().find((route) => route.id === id);
  if (found === undefined) throw new Error(`no operation ${id}`);
  return found;
}

export const buildPath = (
  { path }: Pick<Route, 'path'>,
  params: Readonly<Record<string, string>> = {},
): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? `missing-${name}`));

function plainApp(ctx: Ctx, routes: readonly AnyRoute[]): Express {
  const app = express();
  app.use(requestLog(ctx.log, ctx.clock), pendingHeadersMiddleware);
  app.use(
    platformBase,
    createRouteRouter(withReads(ctx), routes, async () => undefined, createFailureLimit(ctx)),
  );
  app.use(errorHandler(ctx.log));
  return app;
}

type Ground = { ctx: Ctx; server: Server; secrets: Set<string>; erp: () => Promise<Erp> };

/** A new organization with its owner's key and session, prepared for a group of builders. */
async function openSite(group: BuilderGroup, { ctx, server, secrets, erp }: Ground): Promise<Site> {
  const organization = await makeOrganization(ctx);
  const { secret } = await makeKey(ctx, organization.id, { permissions: ['write'] });
  const session = await makeSession(ctx, organization.ownerId);
  secrets.add(secret).add(session.cookie.split('=')[1] ?? session.cookie);
  const key = keyCredential(secret);
  let given = 0;
  const sql: Fixture['sql'] = (work) => inTransaction({ db: ctx.db, organizationId: organization.id }, work);
  const owner = await sql((tx) =>
    tx('users').where({ id: organization.ownerId }).first<{ id: string; email: string }>('id', 'email'),
  );
  const site: Site = {
    ctx,
    organization,
    owner,
    sessionId: session.id,
    key,
    session: sessionCredential(ctx, session),
    erp,
    sql,
    next: () => (given += 1),
    api: async (method, path, body) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const headers = { ...key, ...(text !== undefined && { 'content-type': 'application/json' }) };
      const answer = await server.send({ method, path: `${platformBase}${path}`, headers, body: text });
      if (answer.status >= 300)
        throw new Error(`a builder's ${method} ${path} was answered ${answer.status} ${answer.text}`);
      return answer;
    },
  };
  await group.setUp?.(site);
  return site;
}

type AuditRow = { text: string; action: string; ip: string | null };

async function readAuditRows(admin: Knex, requestId: string): Promise<AuditRow[]> {
  const query = 'select to_jsonb(a)::text as text, action, ip from audit_log a where request_id = ?';
  return (await admin.raw<{ rows: AuditRow[] }>(query, [requestId])).rows;
}

async function readEverything(admin: Knex): Promise<string> {
  const tables = await admin.raw<{ rows: { name: string }[] }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
  );
  let text = '';
  for (const { name } of tables.rows) {
    const { rows } = await admin.raw<{ rows: { text: string | null }[] }>(
      `select string_agg(t::text, ' ') as text from ${name} t`,
    );
    text += rows[0]?.text ?? '';
  }
  return text;
}

export type WalkOptions = {
  /** Operations to walk instead of the service's own, with their builders and their description. */
  readonly instead?: {
    readonly routes: readonly AnyRoute[];
    readonly groups: readonly BuilderGroup[];
    readonly described: unknown;
  };
  readonly allowSignup?: boolean;
  readonly settings?: Partial<Settings>;
};

async function openWalk({ instead, allowSignup = true, settings = {} }: WalkOptions = {}): Promise<Walk> {
  let erp: Promise<Erp> | undefined;
  const allowedHosts: string[] = [];
  const dns = await startDns();
  // A few records: each of many requests connects to the account and samples all of them.
  const data = await createDataFolder();
  const database = await testDatabase({
    settings: {
      allowSignup,
      dnsServers: [dns.address],
      rateLimitPerMinute: 1_000_000,
      erp: { ...testSettings.erp, allowedHosts },
      ...settings,
    },
  });
  const lines: string[] = [];
  const ctx: Ctx = {
    ...database.ctx,
    log: createLog('debug', { write: (line: string) => void lines.push(line) }),
  };
  const server = await listen(instead === undefined ? createApp(ctx) : plainApp(ctx, instead.routes));
  const admin = openKnex(database.address, null, 2);
  const secrets = new Set<string>();
  const groups = instead?.groups ?? builderGroups;

  const openErp = (): Promise<Erp> =>
    (erp ??= startErp(data.folder).then((started) => {
      allowedHosts.push(started.host);
      return started;
    }));

  const makeSite = (group: BuilderGroup): Promise<Site> =>
    openSite(group, { ctx, server, secrets, erp: openErp });
  const sites = new Map<string, Promise<Site>>();
  const prepared = new Map<string, ReturnType<Prepared['toRefuse']>>();
  const createSiteLoader = (group: BuilderGroup, kind: string) => (): Promise<Site> => {
    const name = `${groups.indexOf(group)} ${kind}`;
    const held = sites.get(name) ?? makeSite(group);
    sites.set(name, held);
    return held;
  };

  return {
    ctx,
    server,
    lines,
    secrets,
    description: openDescription(instead?.described ?? describePlatform(ctx.settings.publicUrl)),
    getBuilder(route) {
      const group = groups.find(({ builders }) => Object.hasOwn(builders, route.id));
      const builder = group?.builders[route.id];
      if (group === undefined || builder === undefined) throw new Error(describeMissingBuilder(route));
      const site = builder.destroys === true ? () => makeSite(group) : createSiteLoader(group, 'own');
      const prepare = async () => {
        const made = await site();
        return { site: made, sent: await builder.build(made) };
      };
      const toRefuse = (): ReturnType<typeof prepare> => {
        const held = prepared.get(route.id) ?? prepare();
        prepared.set(route.id, held);
        return held;
      };
      return { builder, site, foreign: createSiteLoader(group, 'foreign'), toRefuse };
    },
    send(route, sent, credential, raw = {}) {
      const search = raw.search ?? new URLSearchParams(sent.query ?? {}).toString();
      const body = raw.body ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body));
      return server.send({
        method: raw.method ?? route.method,
        path: `${platformBase}${buildPath(route, sent.params)}${search === '' ? '' : `?${search}`}`,
        headers: {
          ...credential,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...raw.headers,
        },
        body,
      });
    },
    auditRows: (requestId) => readAuditRows(admin, requestId),
    storedText: () => readEverything(admin),
    close: async () => {
      await ctx.work.waitUntilIdle('publications');
      await ctx.work.waitUntilIdle('answers');
      await server.stop();
      await dns.stop();
      await admin.destroy();
      await database.close();
      await (await erp)?.stop();
      await data.remove();
    },
  };
}

/** The authorized caller of an operation: the owner, by key, or by session where keys aren't accepted. */
export const authorizedCaller = (route: Route, site: Site): Credential =>
  route.permission === 'signed-in' || route.permission === 'organization:create' ? site.session : site.key;

export const isWrite = (route: Route): boolean =>
  route.method !== 'GET' && (route.writes === true || !route.permission.endsWith(':read'));

const describeMissingBuilder = (route: Route): string =>
  `${route.id} (${route.method} ${route.path}) has no builder: add \`${route.id}: { build: async (fixture) => ({ ${[
    ...(route.params === undefined ? [] : [`params: { ${Object.keys(route.params.shape).join(', ')} }`]),
    ...(route.body === undefined ? [] : ['body: { … }']),
  ].join(', ')} }) }\` to its group's file in test/contract/builders/, and a new file to builders/all.ts. ` +
  '`build` prepares what the operation needs and gives a request that is answered well.';

/** For the top level of a test file. */
export function useWalk(options?: WalkOptions): Walk {
  const walk = {} as Walk;
  beforeAll(async () => {
    Object.assign(walk, await openWalk(options));
  });
  afterAll(() => walk.close());
  return walk;
}

/** Rows of `describe.each` and `it.each`. */
export const named = (routes: readonly Route[]) =>
  routes.map((route): [string, Route] => [`${route.method} ${route.path}`, route]);
