// A port for a server that goes away and comes back at its address: meanwhile nobody else is given it.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below every range that a system chooses from by itself, which is where all other servers and clients of the tests are. */
const [lowest, perWorker] = [10_240, 500];

/** A free one; the workers of a test run choose from different ones. */
export async function lastingPort(): Promise<number> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % 10;
  const port = lowest + worker * perWorker + randomInt(perWorker);
  const server = createServer();
  const free = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!free) return lastingPort();
  server.close();
  await once(server, 'close');
  return port;
}
