// Which hostnames an organization may claim, and the one form in which each is kept: lower case, punycode, no trailing dot.
import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import { getPublicSuffix } from 'tldts';

type HostnameProblem = { readonly code: string; readonly message: string };
export type ReadHostname = { readonly hostname: string } | { readonly problem: HostnameProblem };

export const challengePrefix = '_portal-challenge.';

/** A DNS name has at most 253 characters, and the challenge stands in front of this one. */
const longest = 253 - challengePrefix.length;
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Names that no public DNS server answers for (RFC 6761, 6762, 7686, 9476, and ICANN's .internal) or that are not for hosts. */
const special = new Set(['alt', 'arpa', 'internal', 'invalid', 'local', 'localhost', 'onion']);

const problem = (code: string, message: string): ReadHostname => ({ problem: { code, message } });
const notAHostname = problem('not_a_hostname', 'must be a hostname such as portal.acme.com, without scheme, port, path or wildcard');

/** The conversion takes punycode that stands for nothing, so what it gives must survive the way there and back. */
const isTruePunycode = (hostname: string): boolean => {
  const shown = domainToUnicode(hostname);
  return shown !== '' && !shown.split('.').some((part) => part.startsWith('xn--')) && domainToASCII(shown) === hostname;
};

export function readHostname(text: string): ReadHostname {
  const given = text.trim().replace(/[.\u3002\uff0e\uff61]$/, '');
  if (isIP(given) !== 0) return problem('ip_address', 'must be a hostname, not an IP address');
  // The conversion below reads as an address's host, which would drop a path and decode percent signs.
  if (!/^[a-z0-9.\-\u0080-\u{10ffff}]+$/iu.test(given) || /[/:@?#%[\]\\]/.test(given.normalize('NFKC'))) return notAHostname;
  const hostname = domainToASCII(given);
  if (isIP(hostname) !== 0) return problem('ip_address', 'must be a hostname, not an IP address');
  const labels = hostname.split('.');
  if (!labels.every((part) => label.test(part))) return notAHostname;
  if (hostname.includes('xn--') && !isTruePunycode(hostname)) return notAHostname;
  if (hostname.length > longest) return problem('too_long', `must have at most ${longest} characters in the DNS`);
  const top = labels.at(-1) ?? '';
  if (special.has(top)) return problem('not_public', `names below .${top} can't be verified in the public DNS`);
  if (labels.length === 1) return problem('single_label', 'must have at least two labels, such as acme.com');
  if (getPublicSuffix(hostname, { allowPrivateDomains: true, extractHostname: false }) === hostname)
    return problem('public_suffix', 'is a suffix under which anyone may have a name: give the name below it');
  return { hostname };
}
