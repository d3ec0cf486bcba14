// The request log: whatever path a secret is sent in, the log doesn't have it.
import { randomBytes, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createSecretToken } from '../../src/core/secrets/secret-token.ts';
import { loggablePath } from '../../src/http/loggable-path.ts';
import { attachApp, createHttpServer } from '../../src/http/server/server.ts';
import { generateApiKey } from '../../src/identity/api-key.ts';
import { listenLocally } from '../setup/sockets.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

let server: ReturnType<typeof createHttpServer>['server'];
let port: number;
const lines: string[] = [];
const org = useOrganization({ lines });
beforeAll(async () => {
  server = createHttpServer(org.ctx.log).server;
  attachApp(server, org.app);
  port = await listenLocally(server);
});
beforeEach(() => {
  lines.length = 0;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Sends the path as it is, without normalizing it, and returns the log's line about it. */
async function readLog(path: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path, agent: false }, (response) =>
      response.resume().once('end', () => resolve()),
    );
    sent.once('error', reject).end();
  });
  await until(async () => lines.some((line) => line.includes('"msg":"request"')) || undefined);
  return lines.join('');
}
const pathIn = (log: string): string =>
  JSON.parse(log.split('\n').find((line) => line.includes('"msg":"request"')) ?? '{}').path;

const jwt = [{ alg: 'RS256' }, { sub: 'someone', exp: 1 }]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.');
const secrets: readonly (readonly [string, string])[] = [
  ['a link token', createSecretToken()],
  ['an API key', generateApiKey().secret],
  ['an access token', `${jwt}.${randomBytes(64).toString('base64url')}`],
];
it.each(
  secrets.flatMap(([name, secret]) =>
    [
      `/pay/sandbox/${secret}`,
      `/pay/sandbox/${secret}/x`,
      `//pay/sandbox//${secret}`,
      `/PAY/Sandbox/${secret}`,
      `/unsubscribe/${secret}`,
      `/unsubscribe/undo/${secret}?token=${secret}`,
      `/invitations/accept/${secret}`,
      `/api/platform/v1/teams/${secret}`,
      `/api/public/v1/invoices/${secret}`,
      `/api/public/${secret}/invoices`,
      `/${secret}`,
      `/${encodeURIComponent(`"${secret}`)}`,
      `/a;token=${secret}`,
      `/mcp/${secret}#${secret}`,
    ].map((path): [string, string, string] => [name, path, secret]),
  ),
)('%s is not logged: %s', async (_name, path, secret) => {
  const log = await readLog(path);
  expect(log).not.toContain(secret);
  for (const part of secret.split('.')) expect(log).not.toContain(part);
  expect(pathIn(log)).toContain('…');
});

it('paths without secrets are logged as they are', async () => {
  const paths = [
    '/',
    '/api/public/v1/customer-payment-applications-of-all-customers/4711',
    `/api/platform/v1/teams/${randomUUID()}`,
    '/readyz',
    '/a//b/',
  ];
  for (const path of paths) {
    lines.length = 0;
    expect(pathIn(await readLog(`${path}?q=1`))).toBe(path);
  }
});

it('a long path is cut', async () => {
  expect(pathIn(await readLog(`/${'a/'.repeat(2_000)}`)).length).toBeLessThanOrEqual(512);
});

it.each([
  ['many short segments', `${'/a'.repeat(24)}/%`],
  ['many words', `${'/a-b'.repeat(24)}/%`],
  ['many UUIDs', `${`/${randomUUID()}`.repeat(12)}/%`],
  ['one long segment of words', `/${'a-'.repeat(250)}%`],
  ['as many segments as a request may have', '/a'.repeat(8_000)],
])('a path takes no time that grows exponentially: %s', (_name, path) => {
  const startedMs = performance.now();
  loggablePath(path);
  expect(performance.now() - startedMs).toBeLessThan(100);
});
