// What NetSuite has of its own in the management interface: accounts and their addresses, two ways to sign in, certificates.
import { accountRealm, findBaseUrlProblem, restHost } from '../../connectors/netsuite/connection.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import type { Tx } from '../../db/transaction.ts';
import { activateCertificate } from './certificates.service.ts';
import type { ConnectionForm } from './connection-form.ts';
import type { NetsuiteSecretsInput, NetsuiteSettingsInput } from './connections.schemas.ts';
import type { ConnectionRow } from './connections.store.ts';

/** Four characters of a shorter secret would reveal too much. */
const minHintedLength = 16;

type Secrets = Partial<NetsuiteSecretsInput> | undefined;

/** The given secrets, or the stored ones when none are given. Throws 422 `secrets_needed`. */
function chooseSecrets(
  { authentication }: NetsuiteSettingsInput,
  { consumerSecret, tokenSecret }: NonNullable<Secrets> = {},
  before: ConnectionRow | undefined,
) {
  if (authentication.method === 'oauth2') return { secrets: null, hint: null };
  if (consumerSecret !== undefined && tokenSecret !== undefined)
    return {
      secrets: { consumerSecret, tokenSecret },
      hint: tokenSecret.length >= minHintedLength ? tokenSecret.slice(-4) : null,
    };
  const isKept = consumerSecret === undefined && tokenSecret === undefined && before?.secrets != null;
  if (isKept) return { secrets: 'kept' as const, hint: before.secret_hint };
  const message = 'Send consumerSecret and tokenSecret together';
  throw invalid('Both secrets are required', [{ path: 'secrets', code: 'secrets_needed', message }]);
}

function toSettings(
  { accountId, baseUrl, authentication }: NetsuiteSettingsInput,
  certificateId: string | null,
) {
  const plain =
    authentication.method === 'oauth2'
      ? { method: authentication.method, clientId: authentication.clientId, certificateId }
      : authentication;
  return { accountId, baseUrl, authentication: plain };
}

/** The base URL's origin. Throws 422 `host_not_allowed`, or `other_account` for another account's address. */
function parseBaseUrl(ctx: RequestCtx, { baseUrl, accountId }: NetsuiteSettingsInput): string | null {
  if (baseUrl === null) return null;
  const problem = findBaseUrlProblem(baseUrl, ctx.settings.erp.allowedHosts);
  if (problem !== null)
    throw invalid('The base URL is not allowed', [
      { path: 'settings.baseUrl', code: 'host_not_allowed', message: problem },
    ]);
  const { origin, hostname } = new URL(baseUrl);
  if (hostname.endsWith('.netsuite.com') && hostname !== restHost(accountId)) {
    const message = `The address of this account is https://${restHost(accountId)}`;
    throw invalid('The base URL belongs to another account', [
      { path: 'settings.baseUrl', code: 'other_account', message },
    ]);
  }
  return origin;
}

/** Throws 422 for a base URL that isn't allowed, missing secrets, and as `activateCertificate` does. */
async function prepare(
  tx: Tx,
  ctx: RequestCtx,
  name: string,
  given: { readonly settings: NetsuiteSettingsInput; readonly secrets: Secrets },
  before: ConnectionRow | undefined,
) {
  const input = { ...given.settings, baseUrl: parseBaseUrl(ctx, given.settings) };
  const { authentication } = input;
  const certificate =
    authentication.method === 'oauth2' ? await activateCertificate(tx, ctx, name, authentication) : null;
  return {
    account: input.accountId,
    settings: toSettings(input, certificate?.certificateId ?? null),
    ...chooseSecrets(input, given.secrets, before),
    audit: certificate === null ? {} : { certificateSlot: certificate.slot },
  };
}

/** Whether the connection signs in with a certificate. */
export const signsWithCertificate = (row: ConnectionRow): boolean =>
  row.kind === 'netsuite' && row.settings.authentication.method === 'oauth2';

export const netsuiteForm: ConnectionForm<NetsuiteSettingsInput, Secrets> = {
  prepare,
  isSameAccount: (one, other) => accountRealm(one) === accountRealm(other),
  accountField: 'settings.accountId',
  hasCredentials: (row, certificates) =>
    !signsWithCertificate(row)
      ? row.secrets !== null
      : certificates.some(({ active, certificate_id: id }) => active && id !== null),
};
