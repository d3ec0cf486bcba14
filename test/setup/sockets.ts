// Servers on a free port of this machine, and what clients do that no HTTP library does for them.
import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import type { TestServer } from './global.ts';

/** Resolves to the port on which the server listens from now on, at 127.0.0.1. */
export async function listenLocally(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A connection to PostgreSQL, whose host may be the folder of its socket. */
export const connectToPostgres = ({ host, port }: TestServer): Socket =>
  host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);

/** A connection to a server on this machine, which may be reset. */
export function openSocket(server: Server, text = ''): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  if (text !== '') socket.write(text);
  return socket;
}

/**
 * Everything received until the connection closes: by an end or, when the server left something unread, by a
 * reset after it.
 */
export async function readToClose(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.resume();
  await closed;
  return Buffer.concat(chunks).toString();
}
