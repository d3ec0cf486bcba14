// An MCP client that signs a person in by itself, as an editor or an assistant does: it knows the address of
// the server only, keeps what it learns, and opens a page of the identity provider in a browser.
import {
  Client,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { type Browser, openBrowser } from './identity-provider.ts';

export const callbackPath = '/callback';

export type SelfRegistering = OAuthClientProvider & {
  /** What it knows so far. */
  readonly kept: {
    client?: StoredOAuthClientInformation;
    tokens?: StoredOAuthTokens;
    discovery?: OAuthDiscoveryState;
    verifier: string;
    /** The page that it opened last. */
    opened: string;
  };
};

export function selfRegistering(
  metadata: Partial<OAuthClientMetadata> = {},
  redirectUrl = `http://127.0.0.1:33418${callbackPath}`,
): SelfRegistering {
  const kept: SelfRegistering['kept'] = { verifier: '', opened: '' };
  return {
    kept,
    redirectUrl,
    clientMetadata: {
      client_name: 'Test editor',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
      ...metadata,
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (discovery) => void (kept.discovery = discovery),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    redirectToAuthorization: ({ href }) => void (kept.opened = href),
  };
}

export type Mode = 'legacy' | 'auto';

/** A client with an OAuth flow of its own; `connect` throws UnauthorizedError until someone signs in. */
export function openMcpClient(url: string, auth: SelfRegistering, mode: Mode = 'legacy') {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: auth });
  return { client, transport, connect: () => client.connect(transport) };
}

/** Connects to `url`, signs the person in on the page that the client opens, and connects again. */
export async function signInMcpClient(
  url: string,
  personId: string,
  {
    auth = selfRegistering(),
    mode = 'legacy',
    browser = openBrowser(),
  }: { auth?: SelfRegistering; mode?: Mode; browser?: Browser } = {},
): Promise<{ client: Client; auth: SelfRegistering; browser: Browser }> {
  const refused = openMcpClient(url, auth, mode);
  const error = await refused.connect().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UnauthorizedError))
    throw new Error('the client was not asked to sign in', { cause: error });
  const callback = await browser.throughProvider(auth.kept.opened, personId, callbackPath);
  await refused.transport.finishAuth(new URL(callback).searchParams);
  await refused.client.close();
  const { client, connect } = openMcpClient(url, auth, mode);
  await connect();
  return { client, auth, browser };
}
