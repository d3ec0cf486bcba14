// What people see between the start of a sign-in and its end: a page on which they choose who to sign in as.
// For a client that registered itself, choosing also allows that client what it asked for.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type Interaction, type default as Provider } from 'oidc-provider';
import { readScope } from '../../src/core/permissions.ts';
import {
  choosePersonPage,
  contentSecurityPolicy,
  messagePage,
  type PersonChoice,
  type RegisteredClient,
} from './pages.ts';

export type InteractionOptions = {
  readonly people: readonly PersonChoice[];
  readonly portalUrl: string;
  /** The client that needs no consent. */
  readonly portalId: string;
};

const maxFormCharacters = 10_000;

async function readForm(req: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of req) {
    text += String(chunk);
    if (text.length > maxFormCharacters) break;
  }
  return new URLSearchParams(text);
}

/** The client of a sign-in if it registered itself. */
async function findRegisteredClient(
  provider: Provider,
  { params }: Interaction,
  portalId: string,
): Promise<RegisteredClient | undefined> {
  const client = await provider.Client.find(String(params['client_id']));
  if (client === undefined || client.clientId === portalId) return undefined;
  return {
    id: client.clientId,
    name: client.clientName ?? client.clientId,
    redirectUri: String(params['redirect_uri']),
    readsOnly: String(params['scope']).split(' ').includes(readScope),
  };
}

/** Resolves with the id of the grant. */
function grantRequested(
  provider: Provider,
  { params }: Interaction,
  clientId: string,
  accountId: string,
): Promise<string> {
  const grant = new provider.Grant({ clientId, accountId });
  const scope = String(params['scope'] ?? '');
  grant.addOIDCScope(scope);
  for (const resource of [params['resource']].flat())
    if (typeof resource === 'string') grant.addResourceScope(resource, scope);
  return grant.save();
}

async function finish(
  provider: Provider,
  { people }: InteractionOptions,
  [interaction, client]: readonly [Interaction, RegisteredClient | undefined],
  [req, res]: readonly [IncomingMessage, ServerResponse],
): Promise<void> {
  const chosen = (await readForm(req)).get('person');
  const person = people.find(({ id }) => id === chosen);
  const result =
    person === undefined
      ? { error: 'access_denied' }
      : {
          login: { accountId: person.id },
          ...(client !== undefined && {
            consent: { grantId: await grantRequested(provider, interaction, client.id, person.id) },
          }),
        };
  await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false });
}

/**
 * Shows the page on which people choose who to sign in as (GET), and handles their choice (POST). Rejects
 * with any error that is not one of the protocol's.
 */
export async function handleInteraction(
  provider: Provider,
  options: InteractionOptions,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const send = (status: number, body: string, redirectUri?: string) =>
    res
      .writeHead(status, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': contentSecurityPolicy(options.portalUrl, redirectUri),
        'cache-control': 'no-store',
      })
      .end(body);
  try {
    const interaction = await provider.interactionDetails(req, res);
    const client = await findRegisteredClient(provider, interaction, options.portalId);
    if (req.method === 'POST') await finish(provider, options, [interaction, client], [req, res]);
    else send(200, choosePersonPage(options.people, client), client?.redirectUri);
  } catch (error) {
    if (!(error instanceof errors.OIDCProviderError)) throw error;
    send(
      400,
      messagePage(
        'This sign-in has expired',
        'It took too long, or it was started in another browser. Go back to the portal and start again.',
      ),
    );
  }
}
