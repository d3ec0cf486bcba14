// SAP's own mock server, written elsewhere and not configured here beyond metadata and data: it parses every
// query that the connector sends, and answers from the files in `data`. It can't parse quotes within texts,
// so that faults.test.ts has those.
import { createServer, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import mockserver from '@sap-ux/fe-mockserver-core';
import { listenLocally } from '../../setup/sockets.ts';
import { keepAliveTimeout } from '../netsuite/wire.ts';

export type Judge = {
  readonly url: string;
  /** Paths of requests with their queries. */
  readonly seen: string[];
  stop(): Promise<void>;
};

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** A service with the metadata and data of purchase orders. */
export async function startJudge(): Promise<Judge> {
  // A CommonJS module, whose default export Node.js has as a property.
  const mock = new mockserver.default({
    services: [
      {
        urlPath: '/api',
        metadataPath: pathOf('metadata/purchase-order.xml'),
        mockdataPath: pathOf('data'),
        generateMockData: false,
        strictKeyMode: true,
      },
    ],
    annotations: [],
  });
  await mock.isReady;
  const router = mock.getRouter();
  const seen: string[] = [];
  const server: Server = createServer({ keepAliveTimeout }, (request, response) => {
    seen.push(request.url ?? '');
    router(request, response, () => response.writeHead(404).end('no such service'));
  });
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    await mock.dispose();
  };
  return { url, seen, stop };
}
