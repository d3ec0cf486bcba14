// A database of its own for each test file, cloned from the migrated template, and a ctx on it with short times.
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import type { Clock } from '../../src/core/clock.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { openGuardedFetch } from '../../src/core/guarded-fetch.ts';
import { openKeyring } from '../../src/core/keyring.ts';
import { openLog } from '../../src/core/log.ts';
import { mostByDefault, type Settings } from '../../src/core/settings.ts';
import { openDb, openKnex } from '../../src/db/connect.ts';
import { migrate } from '../../src/db/migrate.ts';
import { type TestServer, templateName } from './global.ts';

export const testSettings: Settings = {
  publicUrl: 'http://127.0.0.1',
  ownUrl: 'http://127.0.0.1:9',
  sandbox: { allowed: true, laterMs: 10_000, payoutEveryMs: 86_400_000 },
  production: false,
  rateLimitPerMinute: 10_000,
  allowSignup: false,
  mostPerOrganization: mostByDefault,
  mostOrganizationsPerPerson: 1_000,
  session: { idleMs: 12 * 3_600_000, absoluteMs: 7 * 86_400_000 },
  mail: {
    smtpUrl: null,
    from: 'Portal Service <portal@example.test>',
    // Of this run alone: what another user's left is not ours to write to.
    outboxFolder: path.join(tmpdir(), `portal-outbox-${randomBytes(6).toString('hex')}`),
    mostAttachmentBytes: 10 << 20,
    mostSubscriptionMailsPerDay: 100_000,
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
  proof: { warnMs: 250, budgetMs: 600_000, mostPairs: 2_000, fewRecords: 10_000 },
  publicLoad: { requests: 1_000, waitMs: 10_000 },
  exports: { running: 4, waiting: 32, limitMs: 60_000, slowestBytesPerSecond: 16_384, slowMs: 60_000 },
  trustMs: 1_000,
  cacheBytes: { bodies: 4 << 20, totals: 1 << 20, anchors: 1 << 20, statements: 4 << 20, trusted: 1 << 20, versions: 8 << 20 },
  anchorEvery: 1_000,
  erp: { allowedHosts: [], concurrency: 2, requestTimeoutMs: 10_000, maxResponseBytes: 64 << 20 },
  sync: {
    leaseMs: 20_000,
    renewMs: 500,
    retryBaseMs: 20,
    retryMaxMs: 100,
    maxAttempts: 5,
    pageSize: 1_000,
    workers: 2,
    dropAfterMs: 0,
    overlapMs: 600_000,
    settleMs: 300_000,
    reconcileEveryMs: 86_400_000,
    metadataMaxAgeMs: 86_400_000,
  },
  // Nobody listens there: a test that pays says where.
  stripe: { apiUrl: 'http://127.0.0.1:1', timeoutMs: 5_000, retries: 0 },
  oidc: null,
};

/** A clock that stands still until told otherwise. */
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
    log: openLog(options.logLevel ?? 'silent'),
    fetch: openGuardedFetch({ allowPrivateHosts: true }),
    keyring: openKeyring([{ id: 'test', bytes: randomBytes(32) }]),
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
