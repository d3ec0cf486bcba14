// A proxy in front of an ERP, which answers some requests with faults instead.
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `cut`: the ERP's own answer, half of it. `lost`: the ERP gets the request, the service no answer. */
export type Fault = number | 'html' | 'cut' | 'lost';
export type FaultyProxy = {
  readonly url: string;
  /** The next requests get these, in order. */
  readonly faults: Fault[];
  /** Called with the number of each request, from 1. */
  onRequest: (count: number) => Promise<unknown> | undefined;
  readonly count: () => number;
  stop(): Promise<void>;
};

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target);
  let count = 0;
  const server = createServer(async (incoming, outgoing) => {
    count += 1;
    await proxy.onRequest(count);
    const fault = proxy.faults.shift();
    if (typeof fault === 'number') return void outgoing.writeHead(fault).end('{"error":"as the test wants"}');
    if (fault === 'html')
      return void outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    const { method, url: path, headers } = incoming;
    const onwards = httpRequest({ hostname, port, method, path, headers }, async (answer) => {
      const body = Buffer.concat(await answer.toArray());
      if (fault === 'lost') return void outgoing.destroy();
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      if (fault !== 'cut') return void outgoing.end(body);
      outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy());
    });
    onwards.on('error', () => outgoing.destroy());
    incoming.pipe(onwards);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults: [],
    onRequest: () => undefined,
    count: () => count,
    stop: () => new Promise((done) => (server.closeAllConnections(), server.close(() => done()))),
  };
  return proxy;
}
