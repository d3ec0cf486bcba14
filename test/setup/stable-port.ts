// Chooses a port for a server that stops and starts again at the same address; no other server of the tests
// gets it in between.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ephemeral port ranges of all systems, which all other servers and clients of the tests use. */
const [lowest, perWorker] = [10_240, 500];

/** A free port; each worker of a test run has a range of its own. */
export async function findStablePort(): Promise<number> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % 10;
  const port = lowest + worker * perWorker + randomInt(perWorker);
  const server = createServer();
  const free = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!free) return findStablePort();
  server.close();
  await once(server, 'close');
  return port;
}
