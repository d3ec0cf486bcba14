// What the code of the service needs to run in a process of its own, without a server.

import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createLog } from '../../src/core/log.ts';
import { createGuardedFetch } from '../../src/core/network/guarded-fetch.ts';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import type { Settings } from '../../src/core/settings.ts';
import { createAccountLimits } from '../../src/core/work/account-limits.ts';
import { createTrackedWork } from '../../src/core/work/tracked-work.ts';
import { type DatabaseAddress, openDb } from '../../src/db/connect.ts';

/** Its `db` must be closed, or the process ended. */
export const createProcessCtx = (
  address: DatabaseAddress,
  settings: Settings,
  pools: { readonly control: number; readonly data: number },
): Ctx & { readonly db: ReturnType<typeof openDb> } => ({
  db: openDb(address, address, pools, 5_000),
  settings,
  clock: systemClock,
  log: createLog('silent'),
  fetch: createGuardedFetch({ allowPrivateHosts: true }),
  keyring: createKeyring([{ id: 'test', bytes: Buffer.alloc(32) }]),
  work: createTrackedWork(),
  erpLimits: createAccountLimits(),
});
