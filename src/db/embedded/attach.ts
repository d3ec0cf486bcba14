// Connections that show that a process uses the server. A process is attached as long as its presence
// connection is open, so a crashed process counts as detached.
import { Socket } from 'node:net';
import { Client } from 'pg';
import { isClientClosed, isConnectionLost } from '../driver/error-messages.ts';
import type { Cluster } from './cluster.ts';

export type Attached = { client: Client; socket: Socket };

/** Advisory lock that serializes attaching and stopping: none attaches to a server about to stop. */
export const GATE = 7_018_250_118;
const PRESENT = 'portal-service presence';
export const LEAVING = 'portal-service leaving';

/** Connects as `name`; `absent` without a server, `busy` while it starts or stops. Rejects otherwise. */
export async function connect(cluster: Cluster, name: string): Promise<Attached | 'absent' | 'busy'> {
  const socket = new Socket();
  const client = new Client({
    ...cluster.connection,
    application_name: name,
    ssl: false,
    connectionTimeoutMillis: 30_000,
    stream: () => socket,
  });
  // A server that stops must not end this process; the next query on the connection fails anyway.
  client.on('error', () => {});
  try {
    await client.connect();
    return { client, socket };
  } catch (error) {
    socket.destroy();
    return classifyConnectError(error);
  }
}

/** Throws the error again unless it means that there is no server, or that it is starting or stopping. */
export function classifyConnectError(error: unknown): 'absent' | 'busy' {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return 'absent';
  const message = error instanceof Error ? error.message : '';
  // node-postgres has no codes for these messages; they occur when the server stops between two steps.
  if (/^57P0[1-3]$|^ECONNRESET$|^EPIPE$/.test(code) || isConnectionLost(message) || isClientClosed(message))
    return 'busy';
  throw error;
}

/** Opens the presence connection. Results and errors are those of `connect`. */
export async function attach(cluster: Cluster): Promise<Attached | 'absent' | 'busy'> {
  const found = await connect(cluster, PRESENT);
  if (typeof found === 'string') return found;
  try {
    await found.client.query(
      `set idle_session_timeout = 0; select pg_advisory_lock_shared(${GATE}); select pg_advisory_unlock_shared(${GATE})`,
    );
    return found;
  } catch (error) {
    found.socket.destroy();
    return classifyConnectError(error);
  }
}
