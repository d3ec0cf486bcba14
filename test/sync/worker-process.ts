// A worker in a process of its own, for tests that kill it. Reports its position on standard output and stops
// there.

import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createLog } from '../../src/core/log.ts';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import type { Settings } from '../../src/core/settings.ts';
import { createAccountLimits } from '../../src/core/work/account-limits.ts';
import { createTrackedWork } from '../../src/core/work/tracked-work.ts';
import { type DatabaseAddress, openDb } from '../../src/db/connect.ts';
import { startScheduler } from '../../src/sync/run/scheduler.ts';
import { memoryErp } from './fixture.ts';

type Order = { address: DatabaseAddress; settings: Settings; records: number; standAt: string };
const { address, settings, records, standAt }: Order = JSON.parse(process.argv[2] ?? '{}');

const erp = memoryErp();
for (let id = 1; id <= records; id += 1) erp.put(id, { name: `child ${id}` });
erp.onCall = async ({ operation, afterId }) => {
  if (operation !== 'readPage' || afterId !== standAt) return;
  process.stdout.write('standing\n');
  await new Promise(() => setInterval(() => undefined, 1_000));
};
const ctx: Ctx = {
  db: openDb(address, address, { control: 4, data: 4 }, 5_000),
  settings,
  clock: systemClock,
  log: createLog('silent'),
  fetch: () => Promise.reject(new Error('not here')),
  keyring: createKeyring([{ id: 'test', bytes: Buffer.alloc(32) }]),
  work: createTrackedWork(),
  erpLimits: createAccountLimits(),
};
startScheduler(ctx, { createConnector: async () => erp.connector });
