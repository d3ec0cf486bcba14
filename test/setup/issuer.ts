// What an identity provider says of itself, and nothing else: for settings that are checked against it.
import { createServer } from 'node:http';
import { listenLocally } from './sockets.ts';

let opened: Promise<string> | undefined;

async function open(): Promise<string> {
  const server = createServer({ keepAliveTimeout: 0 });
  const issuer = `http://127.0.0.1:${await listenLocally(server)}`;
  server.on('request', (_req, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(
      JSON.stringify({
        ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
        jwks_uri: `${issuer}/jwks`,
      }),
    );
  });
  server.unref();
  return issuer;
}

/** Its address. One for the process, which it doesn't keep alive. */
export const openIssuer = (): Promise<string> => {
  opened ??= open();
  return opened;
};
