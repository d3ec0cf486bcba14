// What the service stores for a NetSuite connection, and how an account id becomes a host and a realm. It
// decides which base URLs are acceptable; the guarded fetch checks again, by IP address, on every request.
import { z } from 'zod';

/** The account id becomes a host label, so it may contain nothing else. */
const accountId = z
  .string()
  .max(40)
  .regex(/^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)?$/, 'An account id looks like 1234567 or 1234567_SB1');
const credentialName = z.string().trim().min(1).max(200);

export const NetsuiteSettings = z.strictObject({
  accountId,
  /** The origin of the account's REST interface; null for the one derived from the account id. */
  baseUrl: z.string().max(300).nullable(),
  authentication: z.discriminatedUnion('method', [
    /** `certificateId` is null until the certificate has been uploaded in NetSuite, which assigns it. */
    z.strictObject({
      method: z.literal('oauth2'),
      clientId: credentialName,
      certificateId: credentialName.nullable(),
    }),
    z.strictObject({ method: z.literal('tba'), consumerKey: credentialName, tokenId: credentialName }),
  ]),
});
export type NetsuiteSettings = z.infer<typeof NetsuiteSettings>;

export const NetsuiteSecrets = z.union([
  /** `notAfter`: when its certificate expires. */
  z.strictObject({ privateKeyPem: z.string().min(1).max(10_000), notAfter: z.iso.datetime().optional() }),
  z.strictObject({ consumerSecret: z.string().min(1).max(500), tokenSecret: z.string().min(1).max(500) }),
]);
export type NetsuiteSecrets = z.infer<typeof NetsuiteSecrets>;

const hostSuffix = '.suitetalk.api.netsuite.com';
const ownHost = /^[a-z0-9]+(?:-[a-z0-9]+)?\.suitetalk\.api\.netsuite\.com$/;

/** `1234567_SB1` → `1234567-sb1.suitetalk.api.netsuite.com`. */
export const restHost = (account: string) => `${account.toLowerCase().replace('_', '-')}${hostSuffix}`;

/** `1234567-sb1` → `1234567_SB1`. NetSuite answers any other spelling with "Invalid login attempt". */
export const accountRealm = (account: string): string => account.toUpperCase().replace('-', '_');

/**
 * The origin of the account's REST interface, without a trailing slash. Throws a TypeError for a stored base
 * URL that is no URL.
 */
export const serviceOrigin = (settings: Pick<NetsuiteSettings, 'accountId' | 'baseUrl'>): string =>
  settings.baseUrl === null ? `https://${restHost(settings.accountId)}` : new URL(settings.baseUrl).origin;

/** Why this base URL isn't acceptable, as a sentence, or null. `allowedHosts` are `host` or `host:port`. */
export function findBaseUrlProblem(baseUrl: string, allowedHosts: readonly string[]): string | null {
  const url = URL.parse(baseUrl);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return 'The base URL must be an https address';
  if (url.username !== '' || url.password !== '')
    return 'The base URL must not contain a user name or password';
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return 'The base URL must end after the host name';
  if (url.protocol === 'https:' && ownHost.test(url.host)) return null;
  const allowed = allowedHosts.some(
    (host) => host.toLowerCase() === url.host || host.toLowerCase() === url.hostname,
  );
  return allowed
    ? null
    : `The base URL must be https://<account>${hostSuffix} or a host that the operator of this service allows`;
}
