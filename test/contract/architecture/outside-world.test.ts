// Where the outside fixture may be accessed: the environment, the clock, the network, and each library.
import { describe, expect, it } from 'vitest';
import { everything, offending, programs, src } from './sources.ts';

describe('the outside fixture', () => {
  it('Express is imported by the HTTP layer and the pages of the portal only', () => {
    const users = src
      .filter(({ imports }) => imports.some(({ target }) => target === 'express'))
      .map(({ file }) => file);
    expect(users.filter((file) => !/^src\/(app\.ts|http\/|portal\/|public\/index\.ts$)/.test(file))).toEqual(
      [],
    );
  });

  it('the environment is read in the entry points only', () => {
    expect(offending(programs, /\bprocess\.env\b/)).toEqual([
      'src/main.ts',
      'packages/client/src/cli/main.ts',
      'demo/main.ts',
    ]);
  });

  it('asynchronous work is repeated by core/work/recurring.ts: timers elsewhere do what ends at once and cannot fail', () => {
    expect(offending(src, /\bsetInterval\(/)).toEqual([
      'src/core/work/recurring.ts',
      'src/core/work/semaphore.ts',
      'src/core/work/worker-thread.ts',
      'src/http/event-stream.ts', // heartbeats
      'src/http/server/connections.ts',
      'src/http/server/shutdown.ts',
      'src/public/export/copy-lines.ts',
      'src/public/read/connection/large-reads.ts',
    ]);
  });

  it('the system clock is read in one file of the service, and in few of the packages', () => {
    expect(offending(programs, /new Date\(\)|Date\.now\(\)/)).toEqual([
      'src/core/clock.ts',
      'packages/client/src/retry.ts', // a date in Retry-After
      'packages/client/src/webhooks.ts',
      'packages/netsuite-simulator/src/clock.ts',
    ]);
  });

  it("nothing that serves requests connects as the tables' owner, who sees every organization", () => {
    expect(offending(programs, /'portal_owner'/)).toEqual([
      'src/admin/citus/node-facts.ts',
      'src/admin/citus/node-logins.ts',
      'src/admin/index.ts',
      'src/admin/move-to-citus.ts',
      'src/db/connect.ts',
      'src/db/migrate.ts',
      'src/move/control-tables.ts',
    ]);
  });

  it('encrypted values are stored in a column listed in src/admin/encrypted-columns.ts, or not stored at all', () => {
    // A new line here needs a new entry there: a value that key rotation skips can never be decrypted again.
    expect(programs.flatMap(({ file, code }) => [...code.matchAll(/\.encrypt\(/g)].map(() => file))).toEqual([
      'src/admin/rotate-encryption-key.ts',
      'src/gateways/payments/sandbox/sandbox.ts',
      'src/identity/record-token.store.ts',
      'src/identity/sealed.ts', // in the browser or in a link, never stored
      'src/mail/enqueue.ts',
      'src/mail/enqueue.ts',
      'src/platform/connections/connections.service.ts',
      'src/platform/connections/connections.service.ts',
      'src/platform/pay/provider/accounts.ts',
      'src/platform/portal/sign-in.service.ts',
      'src/platform/webhooks/secrets.ts',
      'src/public/version/mask-secret.ts',
    ]);
  });

  it('URLs that a customer entered are called through the guarded fetch', () => {
    // The identity provider, the models' providers and Stripe's address are the operator's, the demo and the
    // sandbox call their own service, and the clock watch wraps the guarded fetch.
    expect(offending(programs, /(?:await |return |= )fetch\(/)).toEqual([
      'src/connectors/netsuite/requests/clock-skew.ts',
      'src/gateways/model/provider-fetch.ts',
      'src/gateways/payments/sandbox/deliver-events.ts',
      'src/gateways/payments/stripe/client.ts',
      'src/identity/access-token.ts',
      'demo/customer-token.ts',
      'demo/demo.ts',
      'demo/management-client.ts',
    ]);
  });

  it.each([
    ['express', /^src\/(app|http\/router)\.ts$/, 2],
    ['pg', /^src\/db\/connect\.ts$/, 1],
    ['knex', /^src\/db\/connect\.ts$/, 1],
    ['zod', /^src\/(config|http\/route\/parse)\.ts$/, 2],
    ['jsonwebtoken', /^src\/(identity\/access-token|connectors\/netsuite\/requests\/auth)\.ts$/, 2],
    ['jwks-rsa', /^src\/identity\/signing-keys\.ts$/, 1],
    ['express-rate-limit', /^src\/http\/rate-limit\.ts$/, 1],
    ['openapi3-ts', /^src\/(http\/openapi\/describe-routes|public\/openapi\/describe-version)\.ts$/, 2],
    ['pino', /^src\/core\/log\.ts$/, 1],
    [
      'stripe',
      /^src\/gateways\/payments\/stripe\/(client|errors|events|payouts|snapshots|stripe-provider)\.ts$/,
      6,
    ],
    ['node-cron', /^src\/core\/work\/recurring\.ts$/, 1],
    ['croner', /^src\/sync\/queue\/due-slots\.ts$/, 1],
    ['lru-cache', /^src\/core\/work\/cache\.ts$/, 1],
    ['vitest', /^test\/contract\/architecture\/files\.test\.ts$/, 1],
    ['supertest', /^test\/setup\/api\.ts$/, 1],
  ])('%s is imported where it is used', (name, where, count) => {
    const users = everything.filter(
      (source) =>
        where.test(source.file) &&
        source.imports.some(({ target }) => target === name || target.startsWith(`${name}/`)),
    );
    expect(users).toHaveLength(count);
  });
});
