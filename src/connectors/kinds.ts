// The ERPs that this service can talk to. Adding one is a folder beside this file and a line here.
import type { Ctx } from '../core/ctx.ts';
import type { Connector } from './connector.ts';
import { netsuiteSecrets, netsuiteSettings } from './netsuite/connection.ts';
import { netsuite } from './netsuite/connector.ts';

type Open = (ctx: Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings'>, settings: unknown, secrets: unknown) => Connector;

/** By the name that a stored connection bears. */
export type ConnectorKinds = Readonly<Record<string, Open>>;

export const connectorKinds: ConnectorKinds = {
  netsuite: (ctx, settings, secrets) => netsuite.open(ctx, netsuiteSettings.parse(settings), netsuiteSecrets.parse(secrets)),
};

/** Opens a connection from what is stored of it. */
export function openStored(kinds: ConnectorKinds, kind: string, ...rest: Parameters<Open>): Connector {
  const open = kinds[kind];
  if (open === undefined) throw new Error(`no connector is named ${kind}`);
  return open(...rest);
}
