// A connection to the server that a ServerFinder chose at that moment. It goes through a connection pooler
// without the settings of the session, which the login must have as defaults (see assertSession).
import { Client, type ClientConfig, DatabaseError } from 'pg';
import { connectTimeout } from './driver/error-messages.ts';
import { aimAt, getStream, sendNoSettings, watchMessages } from './driver/pg-client.ts';
import type { Server, ServerFinder } from './server-finder.ts';

/** Settings of node-postgres, and the finder of an address whose server isn't fixed. */
export type RoutedConfig = ClientConfig & { readonly finder?: ServerFinder | undefined };

const nothing = (): void => undefined;
/** The server is starting, stopping or recovering. Any other error means that it is there and serves. */
const isAway = (error: unknown): boolean =>
  !(error instanceof DatabaseError) || error.code?.startsWith('57P') === true;

export class RoutedClient extends Client {
  readonly #finder: ServerFinder | undefined;
  #server: Server | undefined;

  constructor(config: RoutedConfig) {
    super(config);
    this.#finder = config.finder;
    // pg listens only once it connects, and the socket may break until then.
    getStream(this).on('error', nothing);
  }

  /** Undefined before the connection is open, and with a fixed address. */
  get server(): Server | undefined {
    return this.#server;
  }

  /** Rejects with NoSuitableServer when no server is what the address asks for, and with the errors of pg. */
  override connect(): Promise<this>;
  override connect(callback: (error: Error | null, client?: this) => void): void;
  override connect(callback?: (error: Error | null, client?: this) => void): Promise<this> | undefined {
    const connecting = this.#connect(this.#finder);
    if (callback === undefined) return connecting;
    connecting.then(() => callback(null, this), callback);
    return undefined;
  }

  async #connect(finder: ServerFinder | undefined): Promise<this> {
    if (finder === undefined) {
      await super.connect();
      return this;
    }
    const server = await finder.find();
    const stream = getStream(this);
    if (stream.destroyed) throw stream.errored ?? connectTimeout();
    aimAt(this, server);
    if (server.isPooled) sendNoSettings(this);
    try {
      await super.connect();
      await finder.assertSuitable(this, server);
    } catch (error) {
      if (isAway(error)) finder.discard(server);
      void this.end().catch(nothing);
      throw error;
    }
    this.#server = server;
    return this;
  }
}

/** Whether a statement that this connection prepares by name is there in its next transaction. */
export const keepsPrepared = (client: object): boolean =>
  !(client instanceof RoutedClient) || client.server?.keepsPrepared !== false;

/** Whether a pooler shares the server's sessions of this connection among clients. */
export const isPooled = (client: object): boolean =>
  client instanceof RoutedClient && client.server?.isPooled === true;

/** SQLSTATE of a write in a read-only transaction. */
const readOnly = '25006';

/**
 * Gives the connection up when a write found that its server takes none any more: the address may lead to
 * another server by now.
 */
export function leaveReadOnlyServer(client: Client): void {
  let mustLeave = false;
  watchMessages(
    client,
    (code) => {
      mustLeave ||= code === readOnly;
    },
    () => {
      if (mustLeave) getStream(client).destroy();
    },
  );
}
