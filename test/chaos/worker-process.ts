// The service's worker in a process of its own, to be killed: the real scheduler on the real connector. Looks for work more often than
// the service does, because leases and back-off are short here.
import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { openGuardedFetch } from '../../src/core/guarded-fetch.ts';
import { openKeyring } from '../../src/core/keyring.ts';
import { openLog } from '../../src/core/log.ts';
import type { Settings } from '../../src/core/settings.ts';
import { type Address, openDb } from '../../src/db/connect.ts';
import { startScheduler } from '../../src/sync/scheduler.ts';

export type WorkerOrder = { readonly address: Address; readonly settings: Settings; readonly key: string; readonly logLevel: string };

const pokeMs = 40;
const { address, settings, key, logLevel }: WorkerOrder = JSON.parse(process.argv[2] ?? '{}');

const ctx: Ctx = {
  db: openDb(address, address, { control: 4, data: 4 }, settings.readTimeoutMs),
  settings,
  clock: systemClock,
  log: openLog(logLevel),
  fetch: openGuardedFetch({ allowPrivateHosts: true }),
  keyring: openKeyring([{ id: 'chaos', bytes: Buffer.from(key, 'base64') }]),
};
const scheduler = startScheduler(ctx);
setInterval(scheduler.poke, pokeMs);
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
