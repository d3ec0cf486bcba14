// Which hostnames an organization may claim, and their canonical form: lower case, punycode, no trailing dot.
import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import { getPublicSuffix } from 'tldts';

type HostnameProblem = { readonly code: string; readonly message: string };
export type ParsedHostname = { readonly hostname: string } | { readonly problem: HostnameProblem };

export const challengePrefix = '_portal-challenge.';

/** A DNS name has at most 253 characters, including the challenge prefix. */
const maxHostnameLength = 253 - challengePrefix.length;
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Top-level names outside public DNS (RFC 6761, 6762, 7686, 9476, ICANN's .internal) or not for hosts. */
const special = new Set(['alt', 'arpa', 'internal', 'invalid', 'local', 'localhost', 'onion']);

const problem = (code: string, message: string): ParsedHostname => ({ problem: { code, message } });
const notAHostname = problem(
  'not_a_hostname',
  'must be a hostname such as portal.acme.com, without scheme, port, path or wildcard',
);

/** `domainToASCII` accepts invalid punycode, so the result must survive a round trip. */
const isTruePunycode = (hostname: string): boolean => {
  const shown = domainToUnicode(hostname);
  return (
    shown !== '' &&
    !shown.split('.').some((part) => part.startsWith('xn--')) &&
    domainToASCII(shown) === hostname
  );
};

/** The canonical hostname, or why it cannot be claimed. */
export function parseHostname(text: string): ParsedHostname {
  const given = text.trim().replace(/[.\u3002\uff0e\uff61]$/, '');
  if (isIP(given) !== 0) return problem('ip_address', 'must be a hostname, not an IP address');
  // `domainToASCII` parses its input as the host of a URL, which would drop a path and decode percent signs.
  if (!/^[a-z0-9.\-\u0080-\u{10ffff}]+$/iu.test(given) || /[/:@?#%[\]\\]/.test(given.normalize('NFKC')))
    return notAHostname;
  const hostname = domainToASCII(given);
  if (isIP(hostname) !== 0) return problem('ip_address', 'must be a hostname, not an IP address');
  const labels = hostname.split('.');
  if (!labels.every((part) => label.test(part))) return notAHostname;
  if (hostname.includes('xn--') && !isTruePunycode(hostname)) return notAHostname;
  if (hostname.length > maxHostnameLength)
    return problem('too_long', `must have at most ${maxHostnameLength} characters in the DNS`);
  const top = labels.at(-1) ?? '';
  if (special.has(top))
    return problem('not_public', `names below .${top} cannot be verified in the public DNS`);
  if (labels.length === 1) return problem('single_label', 'must have at least two labels, such as acme.com');
  if (getPublicSuffix(hostname, { allowPrivateDomains: true, extractHostname: false }) === hostname)
    return problem(
      'public_suffix',
      'is a public suffix under which anyone can register names: send a name below it',
    );
  return { hostname };
}

/** Whether the text, as `URL.hostname` writes it, is a hostname that an organization can claim. */
export const isClaimable = (hostname: string): boolean => 'hostname' in parseHostname(hostname);
