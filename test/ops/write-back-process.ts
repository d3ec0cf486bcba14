// Writes payments into an ERP in a process of its own, for tests that kill it.
import { connectorKinds, createStoredConnector } from '../../src/connectors/kinds.ts';
import { createAccountLimits } from '../../src/core/account-limits.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createGuardedFetch } from '../../src/core/guarded-fetch.ts';
import { createKeyring } from '../../src/core/keyring.ts';
import { createLog } from '../../src/core/log.ts';
import type { Settings } from '../../src/core/settings.ts';
import { createTrackedWork } from '../../src/core/tracked-work.ts';
import { type DatabaseAddress, openDb } from '../../src/db/connect.ts';
import { startWriteBack } from '../../src/platform/pay/write-back/worker.ts';

type Order = {
  address: DatabaseAddress;
  settings: Settings;
  connection: { settings: unknown; secrets: unknown };
};
const { address, settings, connection }: Order = JSON.parse(process.argv[2] ?? '{}');

const ctx: Ctx = {
  db: openDb(address, address, { control: 4, data: 1 }, 5_000),
  settings,
  clock: systemClock,
  log: createLog('silent'),
  fetch: createGuardedFetch({ allowPrivateHosts: true }),
  keyring: createKeyring([{ id: 'test', bytes: Buffer.alloc(32) }]),
  work: createTrackedWork(),
  erpLimits: createAccountLimits(),
};
startWriteBack(ctx, {
  createConnector: async () =>
    createStoredConnector(connectorKinds, 'netsuite', ctx, connection.settings, connection.secrets),
});
