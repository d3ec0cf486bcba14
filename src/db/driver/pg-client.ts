// What node-postgres knows about a connection and doesn't offer in its interface. test/db/driver/pg.test.ts
// fails when a new version of pg changes it.
import type { Duplex } from 'node:stream';
import type { ClientBase, ClientConfig, PoolClient, PoolConfig } from 'pg';

/** The process id of the connection's backend, as the server sent it; undefined when it sent none. */
export const backendPid = (client: ClientBase): number | undefined =>
  (client as ClientBase & { readonly processID?: number }).processID;

/** The texts of the statements that the server has parsed, by their names. */
type Parsed = { readonly parsedStatements: Record<string, string | undefined> };
export const isParsed = (connection: object, name: string): boolean =>
  (connection as Parsed).parsedStatements[name] !== undefined;

/** Makes pg prepare the statement again at its next use. The caller deallocates it on the server. */
export function forgetParsed(client: PoolClient, name: string): void {
  delete (client as unknown as { readonly connection: Parsed }).connection.parsedStatements[name];
}

type Unconnected = {
  readonly connection: { readonly stream: Duplex };
  readonly connectionParameters: Record<string, unknown>;
  host: string;
  port: number;
};

/** The socket of a client, before and after it connects. */
export const getStream = (client: ClientBase): Duplex => (client as unknown as Unconnected).connection.stream;

/** Lets an unconnected client connect to this server, by which TLS and password files then know it. */
export function aimAt(client: ClientBase, { host, port }: { readonly host: string; readonly port: number }) {
  const unconnected = client as unknown as Unconnected;
  Object.assign(unconnected, { host, port });
  Object.assign(unconnected.connectionParameters, { host, port });
}

/** Lets an unconnected client send no settings at its start: poolers refuse those that they don't know. */
export function sendNoSettings(client: ClientBase): void {
  const { connectionParameters } = client as unknown as Unconnected;
  for (const name of ['options', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'])
    connectionParameters[name] = undefined;
}

type Messages = { on(event: 'errorMessage', listener: (error: { code?: string }) => void): void };
type Ready = { on(event: 'readyForQuery', listener: (message: { status: string }) => void): void };

/**
 * Calls `onRefused` with every error of the server, and `onIdle` whenever the connection is outside a
 * transaction and has nothing to do.
 */
export function watchMessages(
  client: ClientBase,
  onRefused: (code: string | undefined) => void,
  onIdle: () => void,
): void {
  const { connection } = client as unknown as { connection: Messages & Ready };
  connection.on('errorMessage', ({ code }) => onRefused(code));
  connection.on('readyForQuery', ({ status }) => {
    if (status === 'I') onIdle();
  });
}

/** Lets a pool open its connections as this class; pg's types allow none that takes the settings. */
export const clientOption = (Class: new (config: ClientConfig) => ClientBase) =>
  Class as unknown as NonNullable<PoolConfig['Client']>;
