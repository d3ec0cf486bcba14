// What the service stores for an OData v4 connection, and which addresses and headers are acceptable. The
// guarded fetch checks the addresses again, by IP address, on every request.
import { z } from 'zod';

/** What is known of a service by the product behind it; `generic` assumes nothing beyond the standard. */
export const odataDialects = ['businessCentral', 'dynamics365', 'sap', 'acumatica', 'generic'] as const;
export type OdataDialect = (typeof odataDialects)[number];

/** Headers of the connection itself (RFC 9110, section 7.6.1), and those that this service sets. */
const reservedHeaders: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'host', 'cookie', 'content-length', 'content-type'],
  ...['expect', 'accept', 'accept-encoding', 'prefer', 'odata-version', 'odata-maxversion'],
]);

const text = (maxLength: number) => z.string().trim().min(1).max(maxLength);
const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/, 'A header name has letters, digits and hyphens')
  .refine((name) => !reservedHeaders.has(name.toLowerCase()), 'This header cannot carry a sign-in');
const headerValue = z
  .string()
  .max(4_000)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'A header value has printable ASCII characters');

/** Where a company or a tenant is named: a path segment such as `companies(<id>)`, or a query parameter. */
const Place = z.discriminatedUnion('in', [
  z.strictObject({
    in: z.literal('path'),
    segment: z.string().regex(/^(?!\.+$)[\w.~!$'()*,=@:%-]{1,200}$/, 'One segment of a path'),
  }),
  z.strictObject({
    in: z.literal('query'),
    name: z.string().regex(/^[A-Za-z][\w.-]{0,59}$/, 'The name of a query parameter, without $'),
    value: text(200),
  }),
]);
export type Place = z.infer<typeof Place>;

/** A property of an entity type; in complex properties with dots. */
const propertyName = z.string().regex(/^[\p{L}_][\p{L}\p{N}_.]{0,199}$/u);

/** Replaces what is found in `$metadata` for one entity set; null: there is none. */
const EntitySetSettings = z.strictObject({
  /** The property with the time of the last modification. */
  changedField: propertyName.nullable().optional(),
  /** A property that identifies a record by itself, instead of the key. */
  keyField: propertyName.optional(),
  /** The navigation property to the lines. */
  linesField: propertyName.nullable().optional(),
});

const isTimeZone = (zone: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
};

export const OdataSettings = z.strictObject({
  serviceRoot: z.string().max(500),
  dialect: z.enum(odataDialects),
  signIn: z.discriminatedUnion('method', [
    /** Client credentials (RFC 6749, section 4.4). */
    z.strictObject({
      method: z.literal('oauth2'),
      tokenUrl: z.string().max(500),
      clientId: text(200),
      scope: text(500).nullable(),
      audience: text(500).nullable(),
    }),
    z.strictObject({ method: z.literal('basic'), userName: z.string().regex(/^[^:\p{Cc}]{1,200}$/u) }),
    z.strictObject({ method: z.literal('header'), name: headerName }),
  ]),
  tenant: Place.nullable(),
  company: Place.nullable(),
  /** Records per request; null for what the engine requests. */
  pageSize: z.int().min(1).max(20_000).nullable(),
  /** IANA name of the zone of the account's calendar days, which OData services don't report. */
  timeZone: z.string().max(60).refine(isTimeZone, 'An IANA time zone such as Europe/Vienna'),
  entitySets: z.record(z.string().max(200), EntitySetSettings),
});
export type OdataSettings = z.infer<typeof OdataSettings>;

/** One of these, as the sign-in needs it. */
export const OdataSecrets = z.union([
  z.strictObject({ clientSecret: z.string().min(1).max(4_000) }),
  z.strictObject({ password: z.string().min(1).max(500) }),
  z.strictObject({ headerValue }),
]);
export type OdataSecrets = z.infer<typeof OdataSecrets>;

/**
 * Why this service root or token address isn't acceptable, as a sentence, or null. `allowedHosts` are `host`
 * or `host:port`; only these may be reached by plain http, which the guarded fetch limits to private ones.
 */
export function findAddressProblem(address: string, allowedHosts: readonly string[]): string | null {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return `Not an https address: ${address.slice(0, 200)}`;
  if (url.username !== '' || url.password !== '')
    return 'The address must not contain a user name or password';
  if (url.search !== '' || url.hash !== '') return 'The address must end with its path';
  if (url.protocol === 'https:') return null;
  const allowed = allowedHosts.some((host) => [url.host, url.hostname].includes(host.toLowerCase()));
  return allowed ? null : `The address must use https: ${url.origin}`;
}
