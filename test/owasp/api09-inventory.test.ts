// API9:2023 Improper inventory management. Each operation in the OpenAPI document exists:
// test/contract/openapi. Here the reverse: the application is walked, and everything that is mounted must be
// described there or listed below, and in the README.
import { readdirSync, readFileSync } from 'node:fs';
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { platformBase } from '../../src/http/served.ts';
import { describePlatform, platformRoutes } from '../../src/platform/index.ts';
import { listen, type Server } from '../contract/http.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';

type Layer = {
  readonly rawPath: string | string[];
  readonly slash: boolean;
  readonly name: string;
  readonly handle: { readonly stack?: readonly Layer[] };
  readonly route?: {
    readonly path: string;
    readonly methods: Readonly<Record<string, boolean>>;
    readonly stack: readonly unknown[];
  };
};

/** Routes besides the operations of the OpenAPI document, and why they are not part of it. */
const pages: Readonly<Record<string, string>> = {
  'GET /': 'the welcome page, or on to the console',
  'GET /reference': 'form of that page',
  'USE /console': 'the console: one page and its files',
  'USE /docs': 'the documentation, the same for everyone',
  'GET /api/platform/v1/openapi/preview': 'the reference as a page',
  'USE /api/public': 'describes itself, version by version',
  'USE /assets': 'files of pages',
  'GET /invitations/accept': 'page of a mail',
  'GET /client.tgz': 'the typed client, as npm installs it',
  'GET /links/:token': 'a view as CSV for spreadsheets, by a link',
  'GET /unsubscribe': 'page of a mail',
  'POST /unsubscribe': 'RFC 8058',
  'POST /unsubscribe/undo': 'button of that page',
  'ALL /pay/sandbox/:token': 'refuses other methods',
  'GET /pay/sandbox/:token': 'page of the built-in payment provider',
  'POST /pay/sandbox/:token': 'form of that page',
  'GET /auth/session': 'who is signed in, for pages',
  'ALL /auth/session': 'refuses other methods',
  'GET /auth/login': 'sign-in',
  'ALL /auth/login': 'refuses other methods',
  'POST /auth/demo': 'sign-in of the demo on its own machine; only npm run demo mounts it',
  'ALL /auth/demo': 'refuses other methods',
  'POST /auth/mail': 'sign-in with a mailed code, only with SIGN_IN_BY_MAIL: the address',
  'ALL /auth/mail': 'refuses other methods',
  'GET /auth/code': 'the form for that code',
  'POST /auth/code': 'sign-in with that code',
  'ALL /auth/code': 'refuses other methods',
  'GET /auth/link': 'page of the link that the service prints on its own machine, without a provider',
  'POST /auth/link': 'sign-in with that link',
  'ALL /auth/link': 'refuses other methods',
  'GET /auth/callback': 'sign-in',
  'ALL /auth/callback': 'refuses other methods',
  'POST /auth/logout': 'sign-out',
  'ALL /auth/logout': 'refuses other methods',
  'GET /.well-known/oauth-protected-resource/mcp': 'RFC 9728',
  'GET /.well-known/oauth-protected-resource': 'RFC 9728',
  'USE /mcp': 'Model Context Protocol: its tools list themselves',
  'USE  byHost': 'the portal of each organization at its verified domain, and 404 for everything else there',
  'USE /portal/:slug': 'the portal of each organization on the own host of the service',
};

let database: TestDatabase;
let app: Express;
let server: Server;
beforeAll(async () => {
  const oidc = {
    issuer: 'http://127.0.0.1:9',
    audience: 'portal',
    jwksUri: 'http://127.0.0.1:9/jwks',
    userinfoUri: null,
  };
  database = await testDatabase({
    settings: {
      oidc: { ...oidc, client: { id: 'portal', secret: null } },
      signIn: { byMail: true, byLink: true },
    },
  });
  app = createApp(database.ctx, { demoOwner: { email: 'owner@demo.example', name: 'Owner' } });
  server = await listen(app);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

/** Middleware that passes every request on and sends no response itself. */
const passing = new Set([
  'pendingHeadersMiddleware',
  'assertHeaders',
  'notFoundHandler',
  'assertJsonBody',
  'assertPost',
  'jsonParser',
  'rawParser',
  '<anonymous>',
  'router',
]);

/**
 * Every route of a stack of layers, as `<method> <path>`; `USE` for a function that handles everything below
 * its path.
 */
function mounted(stack: readonly Layer[], base = ''): string[] {
  return stack.flatMap(({ rawPath, slash, name, handle, route }): string[] => {
    if (route !== undefined) {
      const methods = Object.keys(route.methods).map((method) =>
        method === '_all' ? 'ALL' : method.toUpperCase(),
      );
      return [route.path]
        .flat()
        .flatMap((path) =>
          methods.map((method) => `${method} ${base}${path === '/' && base !== '' ? '' : path}`),
        );
    }
    const paths = slash ? [''] : [rawPath].flat();
    return paths.flatMap((path) => {
      const at = `${base}${path}`;
      // The operation called through MCP has no route of its own.
      if (handle.stack !== undefined && at !== '/mcp') return mounted(handle.stack, at);
      if (path !== '') return [`USE ${at}`];
      return passing.has(name) ? [] : [`USE ${at} ${name}`];
    });
  });
}

describe('the mounted routes', () => {
  const operations = platformRoutes.map(
    ({ method, path }) => `${method} ${platformBase}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
  );

  it('are operations of the OpenAPI document or in the list of pages, and nothing else', () => {
    const { ctx } = database;
    const withoutProvider = createApp({ ...ctx, settings: { ...ctx.settings, oidc: null } });
    const found = new Set(
      [app, withoutProvider].flatMap((each) =>
        mounted((each as unknown as { router: { stack: Layer[] } }).router.stack),
      ),
    );
    expect([...found].filter((at) => !operations.includes(at) && pages[at] === undefined)).toEqual([]);
    expect([...operations, ...Object.keys(pages)].filter((at) => !found.has(at))).toEqual([]);
    const described = Object.entries(
      describePlatform('http://127.0.0.1')['paths'] as Record<string, object>,
    ).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((name) => name !== 'parameters')
        .map((method) => `${method.toUpperCase()} ${platformBase}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(described.sort()).toEqual([...operations].sort());
  });

  it('includes an additional route', () => {
    const more = createApp(database.ctx);
    more.get('/debug/:what', () => undefined);
    more.use('/inner', () => undefined);
    const found = mounted((more as unknown as { router: { stack: Layer[] } }).router.stack);
    expect(found).toEqual(expect.arrayContaining(['GET /debug/:what', 'USE /inner']));
  });

  it('are all named in the documentation', () => {
    const files = readdirSync('docs').filter((file) => file.endsWith('.md'));
    const documents = ['README.md', ...files.map((file) => `docs/${file}`)]
      .map((file) => readFileSync(file, 'utf8'))
      .join('');
    const addresses = [
      ...Object.keys(pages).map((at) => at.split(' ')[1] ?? ''),
      '/healthz',
      '/readyz',
      '/metrics',
    ];
    const missing = addresses
      .map((at) => at.replace('/:token', '').replace(':slug', '{slug}'))
      .filter((at) => at !== '/' && !documents.includes(at));
    expect(missing).toEqual([]);
  });

  it('are not those that attackers look for', async () => {
    const tools = ['/debug', '/metrics', '/admin', '/server-status', '/actuator/env', '/graphql'];
    const files = ['/.env', '/.git/config', '/swagger.json', '/openapi.json', '//etc/passwd'];
    const versions = ['', '/v0/whoami', '/v2/whoami', '/V1/whoami'].map((path) => `/api/platform${path}`);
    const outside = ['/assets/../package.json', '/assets/%2e%2e/%2e%2e/package.json'];
    const more = ['/API/platform/v1/whoami', '/assets/..%2f..%2fconfig.ts', '/assets/'];
    for (const path of [...tools, ...files, ...versions, ...outside, ...more]) {
      const { status, text } = await server.send({ method: 'GET', path });
      expect([path, status, JSON.parse(text).error.code]).toEqual([path, 404, 'NOT_FOUND']);
    }
  });
});
