// The address of a PostgreSQL database,
// `postgres://user:password@host1:5432,host2:5433/database?target_session_attrs=read-write`, in the syntax of
// libpq: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS. Neither pg nor
// `URL` knows several hosts.
import { isIPv6 } from 'node:net';

/** Which of several servers a connection may use, as libpq defines it. */
const targets = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const;
export type Target = (typeof targets)[number];

export type DatabaseHost = {
  /** A name, an IP address, or the folder of a Unix socket; null means the default of pg. */
  readonly host: string | null;
  readonly port: number | null;
};
export type DatabaseUrl = {
  readonly hosts: readonly DatabaseHost[];
  readonly target: Target;
  /** The same address with one host, as pg understands it. */
  buildUrl(host: DatabaseHost): string;
};

const encode =
  'In user and password, the characters @ / : ? # must be percent-encoded, for example # as %23.';
const syntax = `must be postgres://user:password@host:port/database. ${encode}`;

/** Null when there is none, undefined when it isn't one. */
function parsePort(text: string | undefined): number | null | undefined {
  if (text === undefined || text === '') return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** Undefined when it isn't a host. */
function parseHost(text: string): DatabaseHost | undefined {
  const [matched, bracketed, plain, portText] =
    /^(?:\[([\da-f:.]+)\]|((?:[^[\]:@\s%]|%[\da-f]{2})*))(?::(.*))?$/i.exec(text) ?? [];
  const port = parsePort(portText);
  if (matched === undefined || port === undefined || (bracketed !== undefined && !isIPv6(bracketed)))
    return undefined;
  const host = bracketed ?? decodeURIComponent(plain ?? '');
  return { host: host === '' ? null : host, port };
}

/**
 * The hosts of the authority, or those of the parameters `host` and `port`; undefined when they aren't hosts
 * or don't fit.
 */
function parseHosts(authority: string, parameters: URLSearchParams): DatabaseHost[] | undefined {
  const [names, portList] = [parameters.get('host')?.split(','), parameters.get('port')?.split(',') ?? []];
  const hosts =
    names?.map((host) => ({ host: host === '' ? null : host, port: null })) ??
    authority.split(',').map(parseHost);
  if (portList.length > 1 && portList.length !== hosts.length) return undefined;
  const complete = hosts.flatMap((host, index) => {
    const port = portList.length === 0 ? host?.port : parsePort(portList[index] ?? portList[0]);
    return host === undefined || port === undefined || (host.host === null && hosts.length > 1)
      ? []
      : [{ host: host.host, port }];
  });
  return complete.length === hosts.length ? complete : undefined;
}

/** The folder of a socket can only be written as a parameter. */
function writeUrl(user: string, path: string, parameters: readonly string[], { host, port }: DatabaseHost) {
  const name = host === null || host.startsWith('/') ? '' : host.includes(':') ? `[${host}]` : host;
  const query = name === '' ? { ...(host !== null && { host }), ...(port !== null && { port }) } : {};
  const all = [
    ...parameters,
    ...Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`),
  ].join('&');
  return `postgres://${user}${name}${port === null || name === '' ? '' : `:${port}`}${path || '/'}${all === '' ? '' : `?${all}`}`;
}

/** Whether every percent-encoded byte belongs to a character. pg takes a % without two digits as it is. */
function isDecodable(url: string): boolean {
  try {
    return decodeURIComponent(url.replaceAll(/%(?![\da-f]{2})/gi, '%25')) !== '';
  } catch {
    return false;
  }
}

/** pg's parser is `URL`, whose error reveals the address. `URL` misses an empty host, which pg allows. */
const isReadable = (url: string): boolean => URL.canParse(url.replace('@/', '@_/'));

/**
 * Parses an address. Returns how it must be written when it isn't one; that text never repeats the address,
 * which holds a password.
 */
export function parseDatabaseUrl(url: string): DatabaseUrl | string {
  if (url.includes('#')) return `contains a # that is not percent-encoded. ${encode}`;
  if (!isDecodable(url)) return 'contains a % that is not percent-encoded as %25';
  const [matched, authority = '', path = '', query = ''] =
    /^postgres(?:ql)?:\/\/([^/?]*)(\/[^/?]*)?(?:\?(.*))?$/s.exec(url) ?? [];
  const userEnd = authority.lastIndexOf('@') + 1;
  // A password with one of these ends the authority too early, and the rest looks like a path.
  const isCut = userEnd === 0 && `${path}${query}`.includes('@');
  const parameters = new URLSearchParams(query);
  const hosts = parseHosts(authority.slice(userEnd), parameters);
  if (matched === undefined || isCut || hosts === undefined) return syntax;
  const target = targets.find((name) => name === (parameters.get('target_session_attrs') ?? 'any'));
  if (target === undefined) return `has an unknown target_session_attrs; allowed are ${targets.join(', ')}`;
  const kept = query
    .split('&')
    .filter((pair) => pair !== '' && !/^(host|port|target_session_attrs)=/.test(pair));
  const buildUrl = (host: DatabaseHost): string => writeUrl(authority.slice(0, userEnd), path, kept, host);
  return hosts.every((host) => isReadable(buildUrl(host))) ? { hosts, target, buildUrl } : syntax;
}

/** Addresses separated by commas; each may name several hosts. */
export const splitDatabaseUrls = (text: string): string[] =>
  text.split(/(?:\s*,)+\s*(?=postgres(?:ql)?:\/\/|$)/).filter((url) => url !== '');
