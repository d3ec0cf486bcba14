// A company's backend that gives each signed-in customer a token for their own records, and for no one
// else's.
import { createServer, type IncomingMessage } from 'node:http';

const setting = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`Set ${name}`);
  return value;
};
const portal = setting('PORTAL_URL');
const tenantId = setting('PORTAL_TENANT');
const keyId = setting('PORTAL_KEY_ID');
/** The API key stays in the backend. Browsers and apps get tokens only. */
const key = setting('PORTAL_KEY');

/** Customer ids by session cookie. Replace it with your own sign-in. */
const sessions = new Map<string, string>(
  Object.entries(JSON.parse(setting('SESSIONS')) as Record<string, string>),
);

function signedInCustomer(request: IncomingMessage): string | undefined {
  const session = /(?:^|;\s*)session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1];
  return session === undefined ? undefined : sessions.get(session);
}

type Token = { readonly token: string; readonly expiresAt: string };

async function mintToken(customerId: string): Promise<Token> {
  const response = await fetch(`${portal}/api/platform/v1/api-keys/${keyId}/tokens`, {
    method: 'POST',
    signal: AbortSignal.timeout(10_000),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      tokens: [
        {
          subject: `customer:${customerId}`,
          expiresInSeconds: 900,
          scopes: {
            rows: {
              invoices: [{ field: 'customerId', in: [customerId] }],
              'credit-memos': [{ field: 'customerId', in: [customerId] }],
              customers: [{ field: 'id', in: [customerId] }],
            },
          },
        },
      ],
    }),
  });
  const body = (await response.json()) as { tokens: Token[] };
  const [minted] = body.tokens ?? [];
  if (minted === undefined) throw new Error(`No token: ${response.status} ${JSON.stringify(body)}`);
  return minted;
}

const reuseUntilMs = 60_000;
/**
 * Tokens are reused until a minute before they end. Remove a customer's when you end it: DELETE
 * /api-keys/{id}/tokens.
 */
const minted = new Map<string, Promise<Token>>();

async function tokenFor(customerId: string): Promise<Token> {
  const known = await minted.get(customerId)?.catch(() => undefined);
  if (known !== undefined && Date.parse(known.expiresAt) - Date.now() > reuseUntilMs) return known;
  const made = mintToken(customerId);
  minted.set(customerId, made);
  return made;
}

const server = createServer((request, response) => {
  const answer = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify(body));
  };
  const customerId = signedInCustomer(request);
  if (request.method !== 'GET' || request.url !== '/records-token')
    return answer(404, { error: 'Not found' });
  if (customerId === undefined) return answer(401, { error: 'Sign in first' });
  tokenFor(customerId).then(
    ({ token, expiresAt }) => answer(200, { url: `${portal}/api/public/v1`, tenantId, token, expiresAt }),
    (error: unknown) => {
      console.error(error);
      answer(502, { error: 'Records are unavailable at the moment' });
    },
  );
});
server.listen(Number(process.env['PORT'] ?? 8082), '127.0.0.1', () => console.log('The backend is ready'));
