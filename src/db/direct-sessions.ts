// The control connections hold locks and listen for notifications for as long as they are open. A pooler in
// transaction mode, which gives a session of the server to another client after each transaction, makes both
// silently wrong, so the service refuses it there.
import { connectClient, type DatabaseAddress, locate, poolConfig } from './connect.ts';
import { isPooled, type RoutedClient } from './routed-client.ts';
import { type AddressVariable, explainDatabaseError, UnusableDatabase } from './unusable-database.ts';

const channel = 'portal_session_check';
/** A notification takes milliseconds; a busy server more. */
const maxWaitMs = 5_000;

async function isNotified(listener: RoutedClient, notifier: RoutedClient): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  listener.on('notification', () => resolve(true));
  await listener.query(`listen ${channel}`);
  await notifier.query(`notify ${channel}`);
  const timer = setTimeout(() => resolve(false), maxWaitMs);
  const notified = await promise.finally(() => clearTimeout(timer));
  await listener.query(`unlisten ${channel}`);
  return notified;
}

/**
 * Rejects with UnusableDatabase when connections to the address don't have sessions of their own, or the
 * server can't be used. A connection without a pooler is recognized by its process id; one through a pooler
 * must receive a notification.
 */
export async function assertDirectSessions(address: DatabaseAddress, variable: AddressVariable) {
  const connect = connectClient(poolConfig(locate(address), null));
  const opened: RoutedClient[] = [];
  const open = async (): Promise<RoutedClient> => {
    const client = await connect();
    client.on('error', () => undefined);
    opened.push(client);
    return client;
  };
  try {
    const listener = await open();
    if (!isPooled(listener) || (await isNotified(listener, await open()))) return;
  } catch (error) {
    throw explainDatabaseError(error, variable);
  } finally {
    await Promise.all(opened.map((client) => client.end()));
  }
  throw new UnusableDatabase(
    `${variable} leads through a connection pooler that shares sessions, such as PgBouncer with pool_mode=transaction: locks and notifications ` +
      'would be lost. Connect to PostgreSQL directly, or use pool_mode=session. WAREHOUSE_URL may go through such a pooler: ' +
      'docs/operations.md#connection-poolers.',
  );
}
