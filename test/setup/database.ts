// Gives each test file a database of its own, cloned from the migrated template, and a ctx on it with short
// timeouts.
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Knex } from 'knex';
import { inject } from 'vitest';
import { readConfig } from '../../src/config.ts';
import type { Clock } from '../../src/core/clock.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createLog } from '../../src/core/log.ts';
import { createGuardedFetch } from '../../src/core/network/guarded-fetch.ts';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import type { Settings } from '../../src/core/settings.ts';
import { createAccountLimits } from '../../src/core/work/account-limits.ts';
import { createTrackedWork } from '../../src/core/work/tracked-work.ts';
import { openDb, openKnex } from '../../src/db/connect.ts';
import { sqlState } from '../../src/db/pg-errors.ts';
import { type TestServer, templateName } from './global.ts';

const { settings: defaults } = readConfig({});

/**
 * The defaults, except for shorter times, smaller caches, and limits that only the tests of these limits may
 * reach.
 */
export const testSettings: Settings = {
  ...defaults,
  publicUrl: 'http://127.0.0.1',
  ownUrl: 'http://127.0.0.1:9',
  rateLimitPerMinute: 10_000,
  maxOrganizationsPerPerson: 1_000,
  mail: {
    ...defaults.mail,
    from: 'Portal Service <portal@example.test>',
    // A folder of this run only, because one left by another user may not be writable.
    outboxFolder: path.join(tmpdir(), `portal-outbox-${randomBytes(6).toString('hex')}`),
    maxSubscriptionMailsPerDay: 100_000,
  },
  agents: { ...defaults.agents, timeMs: 20_000, leaseMs: 5_000 },
  readTimeoutMs: 5_000,
  publicLoad: { ...defaults.publicLoad, maxWaitMs: 10_000 },
  exports: { ...defaults.exports, maxDurationMs: 60_000 },
  cacheBytes: {
    bodies: 4 << 20,
    totals: 1 << 20,
    anchors: 1 << 20,
    statements: 4 << 20,
    lookups: 1 << 20,
    tokens: 1 << 20,
    versions: 8 << 20,
  },
  erp: { ...defaults.erp, requestTimeoutMs: 10_000 },
  sync: { ...defaults.sync, leaseMs: 20_000, renewMs: 500, retryBaseMs: 20, retryMaxMs: 100, dropAfterMs: 0 },
  // Nothing listens there; tests of payments set their own server.
  stripe: { apiUrl: 'http://127.0.0.1:1', timeoutMs: 5_000, retries: 0 },
};

/** A clock that only moves when `advance` is called. */
export type TestClock = Clock & { advance(ms: number): void };
export function testClock(start = new Date('2026-03-02T10:00:00Z')): TestClock {
  let at = start.getTime();
  return {
    now: () => new Date(at),
    monotonicMs: () => at,
    advance: (ms) => void (at += ms),
  };
}

export type TestDatabase = {
  readonly ctx: Ctx;
  /** With the login of the superuser, for set-up by tests. */
  readonly address: TestServer;
  /** With the login of the service, as `ctx` uses it. */
  readonly service: TestServer;
  close(): Promise<void>;
};
export type TestDatabaseOptions = { settings?: Partial<Settings>; clock?: Clock; logLevel?: string };

export type TestCtx = Ctx & { readonly db: ReturnType<typeof openDb> };

/** A ctx with pools of its own on a migrated database; its `db` must be closed. */
export function openTestCtx(service: TestServer, options: TestDatabaseOptions = {}): TestCtx {
  const settings = { ...testSettings, ...options.settings };
  return {
    db: openDb(service, service, { control: 8, data: 6 }, settings.readTimeoutMs),
    settings,
    clock: options.clock ?? systemClock,
    log: createLog(options.logLevel ?? 'silent'),
    fetch: createGuardedFetch({ allowPrivateHosts: true }),
    keyring: createKeyring([{ id: 'test', bytes: randomBytes(32) }]),
    work: createTrackedWork(),
    erpLimits: createAccountLimits(),
  };
}

/** Runs `work` on each node of the Citus cluster, or on the one server. */
export const onAllNodes = (work: (admin: Knex) => Promise<unknown>): Promise<unknown> =>
  Promise.all(
    inject('nodes').map(async (node) => {
      const admin = openKnex(node, null, 1);
      await work(admin).finally(() => admin.destroy());
    }),
  );

/**
 * Tries again when Citus has connected to the database from another node meanwhile (55006). Each attempt may
 * take five seconds.
 */
export const dropDatabase = (admin: Knex, name: string, triesLeft = 5): Promise<unknown> =>
  admin.raw(`drop database if exists ${name} with (force)`).catch((error: unknown) => {
    if (sqlState(error) === '55006' && triesLeft > 0) return dropDatabase(admin, name, triesLeft - 1);
    throw error;
  });

export async function testDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = inject('pg');
  const name = `t_${randomBytes(8).toString('hex')}`;
  await onAllNodes(async (admin) => {
    // Half the time of the default strategy, which writes all of it to the log as well.
    await admin.raw(`create database ${name} template ${templateName} strategy file_copy`);
    // As `migrate` does: a clone has all that is in the template, but not the privileges on the database
    // itself.
    await admin.raw(`grant create, connect on database ${name} to portal_owner, portal_service`);
  });
  const address = { ...server, database: name };
  const service = { ...address, ...inject('serviceLogin') };
  const ctx = openTestCtx(service, options);
  return {
    ctx,
    address,
    service,
    close: async () => {
      await ctx.db.close();
      await onAllNodes((admin) => dropDatabase(admin, name));
    },
  };
}
