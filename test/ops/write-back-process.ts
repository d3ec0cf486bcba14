// Writes payments into an ERP in a process of its own, for tests that kill it.
import { connectorKinds, createStoredConnector } from '../../src/connectors/kinds.ts';
import type { Settings } from '../../src/core/settings.ts';
import type { DatabaseAddress } from '../../src/db/connect.ts';
import { startWriteBack } from '../../src/platform/pay/write-back/worker.ts';
import { createProcessCtx } from './process-ctx.ts';

type Order = {
  address: DatabaseAddress;
  settings: Settings;
  connection: { settings: unknown; secrets: unknown };
};
const { address, settings, connection }: Order = JSON.parse(process.argv[2] ?? '{}');

const ctx = createProcessCtx(address, settings, { control: 4, data: 1 });
startWriteBack(ctx, {
  createConnector: async () =>
    createStoredConnector(connectorKinds, 'netsuite', ctx, connection.settings, connection.secrets),
});
