// The ERPs that this service can connect to. To add one, add a folder next to this file and a line to
// `connectorKinds`; its forms and routes go under src/platform (see docs/adding-an-erp.md).
import type { Connector, ConnectorCtx } from './connector.ts';
import { SignInSecrets } from './http/sign-in.ts';
import { NetsuiteSecrets, NetsuiteSettings } from './netsuite/connection.ts';
import { netsuite } from './netsuite/connector.ts';
import { OdataSettings } from './odata/connection.ts';
import { odata } from './odata/connector.ts';

type StoredConnectorFactory = (ctx: ConnectorCtx, settings: unknown, secrets: unknown) => Connector;

/** By the `kind` of a stored connection (`erp_connections.kind`). */
export type ConnectorKinds = Readonly<Record<string, StoredConnectorFactory>>;

export const connectorKinds: ConnectorKinds = {
  netsuite: (ctx, settings, secrets) =>
    netsuite.create(ctx, NetsuiteSettings.parse(settings), NetsuiteSecrets.parse(secrets)),
  odata: (ctx, settings, secrets) =>
    odata.create(ctx, OdataSettings.parse(settings), SignInSecrets.parse(secrets)),
};

/**
 * Creates a connector from a stored connection: its kind, and its settings and secrets as JSON values. Makes
 * no request. Throws an Error for an unknown kind, and a ZodError for settings or secrets that don't match
 * the kind's schema.
 */
export function createStoredConnector(
  kinds: ConnectorKinds,
  kind: string,
  ...rest: Parameters<StoredConnectorFactory>
): Connector {
  const create = kinds[kind];
  if (create === undefined) throw new Error(`unknown connector kind: ${kind}`);
  return create(...rest);
}
