// Gives each test file a database of its own, cloned from the migrated template, and a ctx on it with short timeouts.
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import type { Clock } from '../../src/core/clock.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createGuardedFetch } from '../../src/core/guarded-fetch.ts';
import { createKeyring } from '../../src/core/keyring.ts';
import { createLog } from '../../src/core/log.ts';
import { defaultQuotas, type Settings } from '../../src/core/settings.ts';
import { openDb, openKnex } from '../../src/db/connect.ts';
import { migrate } from '../../src/db/migrate.ts';
import { type TestServer, templateName } from './global.ts';

export const testSettings: Settings = {
  publicUrl: 'http://127.0.0.1',
  ownUrl: 'http://127.0.0.1:9',
  sandbox: { allowed: true, delayMs: 10_000, payoutEveryMs: 86_400_000 },
  production: false,
  rateLimitPerMinute: 10_000,
  allowSignup: false,
  quotas: defaultQuotas,
  maxOrganizationsPerPerson: 1_000,
  session: { idleMs: 12 * 3_600_000, absoluteMs: 7 * 86_400_000 },
  mail: {
    smtpUrl: null,
    from: 'Portal Service <portal@example.test>',
    // A folder of this run only, because one left by another user may not be writable.
    outboxFolder: path.join(tmpdir(), `portal-outbox-${randomBytes(6).toString('hex')}`),
    maxAttachmentBytes: 10 << 20,
    maxSubscriptionMailsPerDay: 100_000,
  },
  dnsServers: [],
  agentCreditsPerMonth: 1_000,
  models: { names: [], anthropic: null, openAiCompatible: null },
  agents: {
    steps: 8,
    inputTokens: 60_000,
    outputTokens: 4_000,
    historyTokens: 8_000,
    toolOutputBytes: 16_384,
    timeMs: 20_000,
    leaseMs: 5_000,
  },
  corsOrigins: [],
  readTimeoutMs: 5_000,
  proof: { warnMs: 250, budgetMs: 600_000, maxPairs: 2_000, smallTableRecords: 10_000 },
  publicLoad: { maxRequests: 1_000, maxWaitMs: 10_000 },
  exports: { maxRunning: 4, maxWaiting: 32, maxDurationMs: 60_000, minBytesPerSecond: 16_384, maxSlowMs: 60_000 },
  cacheTtlMs: 1_000,
  cacheBytes: { bodies: 4 << 20, totals: 1 << 20, anchors: 1 << 20, statements: 4 << 20, lookups: 1 << 20, versions: 8 << 20 },
  anchorEvery: 1_000,
  erp: { allowedHosts: [], concurrency: 2, requestTimeoutMs: 10_000, maxResponseBytes: 64 << 20 },
  sync: {
    leaseMs: 20_000,
    renewMs: 500,
    retryBaseMs: 20,
    retryMaxMs: 100,
    maxAttemptsWithoutProgress: 5,
    pageSize: 1_000,
    workers: 2,
    dropAfterMs: 0,
    overlapMs: 600_000,
    settleMs: 300_000,
    scanEveryMs: 86_400_000,
    metadataMaxAgeMs: 86_400_000,
  },
  // Nothing listens there; tests of payments set their own server.
  stripe: { apiUrl: 'http://127.0.0.1:1', timeoutMs: 5_000, retries: 0 },
  oidc: null,
};

/** A clock that only moves when `advance` is called. */
export type TestClock = Clock & { advance(ms: number): void };
export function testClock(start = new Date('2026-03-02T10:00:00Z')): TestClock {
  let at = start.getTime();
  return {
    now: () => new Date(at),
    monotonicMs: () => at,
    advance: (ms) => {
      at += ms;
    },
  };
}

export type TestDatabase = { readonly ctx: Ctx; readonly address: TestServer; close(): Promise<void> };
export type TestDatabaseOptions = { settings?: Partial<Settings>; clock?: Clock; logLevel?: string };

export async function testDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = inject('pg');
  const name = `t_${randomBytes(8).toString('hex')}`;
  const admin = openKnex(server, null, 1);
  await admin.raw(`create database ${name} template ${templateName}`);
  await admin.destroy();
  const address = { ...server, database: name };
  await migrate(address);
  const settings = { ...testSettings, ...options.settings };
  const db = openDb(address, address, { control: 8, data: 6 }, settings.readTimeoutMs);
  const ctx: Ctx = {
    db,
    settings,
    clock: options.clock ?? systemClock,
    log: createLog(options.logLevel ?? 'silent'),
    fetch: createGuardedFetch({ allowPrivateHosts: true }),
    keyring: createKeyring([{ id: 'test', bytes: randomBytes(32) }]),
  };
  return {
    ctx,
    address,
    close: async () => {
      await db.close();
      const closing = openKnex(server, null, 1);
      await closing.raw(`drop database if exists ${name} with (force)`);
      await closing.destroy();
    },
  };
}
