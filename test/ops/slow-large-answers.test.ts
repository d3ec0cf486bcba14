// Large responses that their clients don't read hold permits, and keep no other organization from reading.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, it } from 'vitest';
import {
  type Caller,
  createCaller,
  invoicesEndpoint,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../public/fixture.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';

const rows = Array.from({ length: 20 }, (_, index) => ({ id: index + 1, entity: 'x'.repeat(500_000) }));
const endpoints = [{ ...invoicesEndpoint, maxPageSize: 1_000 }];
const path = '/v1/invoices?pageSize=20';

let database: TestDatabase;
let server: Server;
let callers: Caller[];
let get: ReturnType<typeof createCaller>;

beforeAll(async () => {
  database = await testDatabase({
    settings: { readTimeoutMs: 60_000, publicLoad: { maxRequests: 100, maxWaitMs: 20_000 } },
  });
  callers = await Promise.all([1, 2, 3].map(makeCaller));
  const app = publicApp(database.ctx);
  get = createCaller(app, callers[2] as Caller);
  server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await database.close();
});

async function makeCaller(): Promise<Caller> {
  const { id: organizationId } = await makeOrganization(database.ctx);
  await loadInvoices(database.ctx, organizationId, rows);
  await publishVersion(database.ctx, organizationId, { endpoints });
  const { secret } = await makeKey(database.ctx, organizationId);
  return { secret, organizationId };
}

/** Sends a request, and reads nothing but the first bytes of its response. */
async function requestSlowly({ secret, organizationId }: Caller): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  const head = `GET /api/public${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${secret}\r\nx-tenant-id: ${organizationId}\r\n\r\n`;
  socket.write(head);
  await once(socket, 'readable');
  return socket;
}

it('clients of two organizations that read nothing keep no third one from reading', async () => {
  const slow = callers
    .slice(0, 2)
    .flatMap((caller) => Array.from({ length: 4 }, () => requestSlowly(caller)));
  const sockets = await Promise.all(slow);
  await get(path).expect(200);
  for (const socket of sockets) socket.destroy();
});
