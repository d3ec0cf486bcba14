// The wire format of token-based authentication: OAuth 1.0a, RFC 5849 section 3.4.1. Parses headers and
// computes signatures; it doesn't decide whether a signature is accepted.
import { createHmac } from 'node:crypto';

export type OauthHeader = { realm: string | undefined; parameters: ReadonlyMap<string, string> };
/** `address` is scheme, host and path as the caller sent them; `query` is what follows the question mark. */
export type SignedRequest = { method: string; address: string; query: string };
export type SigningSecrets = { consumerSecret: string; tokenSecret: string };

/** The Authorization header is malformed. */
export class OauthHeaderError extends Error {}

const FIELD = /^\s*([A-Za-z0-9_%.~-]+)="([^"]*)"\s*$/;

/** RFC 3986: everything but letters, digits and `-._~`. */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new OauthHeaderError(`${text} is not percent-encoded`, { cause: error });
  }
}

/**
 * Parses `OAuth realm="…", oauth_nonce="…", …`. Throws OauthHeaderError for duplicate, empty or malformed
 * parameters.
 */
export function parseOauthHeader(header: string): OauthHeader {
  const parameters = new Map<string, string>();
  let realm: string | undefined;
  for (const field of header.trim().slice('OAuth'.length).split(',')) {
    const [, name, value] = FIELD.exec(field) ?? [];
    if (name === undefined || value === undefined)
      throw new OauthHeaderError(`${field.trim() || 'an empty field'} is no parameter`);
    if (value === '') throw new OauthHeaderError(`${name} is empty`);
    if (name === 'realm') {
      if (realm !== undefined) throw new OauthHeaderError('realm occurs twice');
      realm = value;
      continue;
    }
    const decoded = percentDecode(name);
    if (parameters.has(decoded)) throw new OauthHeaderError(`${decoded} occurs twice`);
    parameters.set(decoded, percentDecode(value));
  }
  return { realm, parameters };
}

/**
 * HMAC-SHA256 in base64 over the method, the address, every header parameter but the signature, and every
 * parameter of the URL; the body isn't signed. Throws OauthHeaderError when the URL's query is not
 * percent-encoded.
 */
export function computeSignature(
  request: SignedRequest,
  header: ReadonlyMap<string, string>,
  secrets: SigningSecrets,
  plusIsSpace = false,
): string {
  const fromHeader = [...header].filter(([name]) => name !== 'oauth_signature');
  const pairs = [...fromHeader, ...parseQuery(request.query, plusIsSpace)]
    .map(([name, value]) => [percentEncode(name), percentEncode(value)] as const)
    .sort(([nameA, valueA], [nameB, valueB]) => compare(nameA, nameB) || compare(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const base = [request.method.toUpperCase(), request.address, pairs].map(percentEncode).join('&');
  return createHmac(
    'sha256',
    `${percentEncode(secrets.consumerSecret)}&${percentEncode(secrets.tokenSecret)}`,
  )
    .update(base)
    .digest('base64');
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function parseQuery(query: string, plusIsSpace: boolean): [string, string][] {
  if (query === '') return [];
  const decode = (text: string): string => percentDecode(plusIsSpace ? text.replaceAll('+', ' ') : text);
  return query.split('&').map((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? [decode(pair), ''] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))];
  });
}
