// The service's worker in a process of its own, to be killed: the real scheduler with the real connector, and webhooks.
// Polls more often than the service does, because leases and backoff are short here.

import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createLog } from '../../src/core/log.ts';
import { createGuardedFetch } from '../../src/core/network/guarded-fetch.ts';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import type { Settings } from '../../src/core/settings.ts';
import { createAccountLimits } from '../../src/core/work/account-limits.ts';
import { createTrackedWork } from '../../src/core/work/tracked-work.ts';
import { type DatabaseAddress, openDb } from '../../src/db/connect.ts';
import { startWebhooks } from '../../src/platform/webhooks/deliver.ts';
import { createReadEngine } from '../../src/public/index.ts';
import { startScheduler } from '../../src/sync/run/scheduler.ts';

export type WorkerOrder = {
  readonly address: DatabaseAddress;
  readonly settings: Settings;
  readonly key: string;
  readonly logLevel: string;
};

const pokeMs = 40;
const { address, settings, key, logLevel }: WorkerOrder = JSON.parse(process.argv[2] ?? '{}');

const ctx: Ctx = {
  db: openDb(address, address, { control: 4, data: 4 }, settings.readTimeoutMs),
  settings,
  clock: systemClock,
  log: createLog(logLevel),
  fetch: createGuardedFetch({ allowPrivateHosts: true }),
  keyring: createKeyring([{ id: 'chaos', bytes: Buffer.from(key, 'base64') }]),
  work: createTrackedWork(),
  erpLimits: createAccountLimits(),
};
const scheduler = startScheduler(ctx);
startWebhooks({ ...ctx, reads: createReadEngine(ctx) }, { pollMs: 500, leaseMs: 3_000 });
setInterval(scheduler.claimNow, pokeMs);
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
