// Settings of the process, its database and its organizations.
import { z } from 'zod';
import { derived, fixed, setting, variable } from './declare.ts';
import { defaultQuotas } from './quotas.ts';
import {
  encryptionKeys,
  integer,
  isOrigin,
  origin,
  primaryUrl,
  quotasOver,
  readUrls,
  refineList,
  text,
  trustedProxies,
} from './values.ts';

export const serviceSettings = {
  NODE_ENV: variable(
    z.enum(['development', 'test', 'production']),
    'development',
    'development, test or production. Production requires DATABASE_URL, ENCRYPTION_KEY and PUBLIC_URL.',
  ),
  production: derived<boolean>(),
  HOST: variable(text, '127.0.0.1', 'The address to listen on.'),
  PORT: variable(integer(0, 65_535), '8080'),
  PROCESSES: variable(
    z
      .string()
      .regex(/^(auto|[1-9]|[1-5]\d|6[0-4])$/, 'must be auto or a whole number from 1 to 64')
      .transform((given) => (given === 'auto' ? given : Number(given))),
    '1',
    'Processes that serve requests at this port, one of which also syncs; auto: one per core, as far as PostgreSQL has connections. They divide',
    'the sizes of pools and caches and most limits among each other: docs/scaling.md#several-processes-behind-one-port',
  ),
  METRICS_HOST: variable(
    text,
    '127.0.0.1',
    'The address of Prometheus metrics, at /metrics, and of what a proxy with on-demand TLS asks, at /tls-allowed. Do not expose it publicly. Leave METRICS_PORT empty to disable it.',
  ),
  METRICS_PORT: variable(integer(0, 65_535).optional()),
  SHUTDOWN_SECONDS: variable(
    integer(1, 3_600),
    '25',
    'Seconds that a shutdown may take. Requests in progress finish and running syncs are handed over; what remains then is cut off.',
  ),
  SHUTDOWN_DRAIN_SECONDS: variable(
    integer(0, 600),
    '0',
    'Seconds of those during which the service keeps answering while /readyz responds 503, so that a load balancer can react.',
  ),
  PUBLIC_URL: variable(
    origin.optional(),
    '',
    'The address that callers use, without a path. Used in links, descriptions and mails. Default: http://HOST:PORT',
  ),
  publicUrl: derived<string>(),
  /** Address at which this process reaches itself; the sandbox delivers its webhook events there. */
  ownUrl: derived<string>(),
  DATA_DIR: variable(
    text,
    '.data',
    "The folder of the embedded PostgreSQL, the encryption key and the demo's files.",
  ),
  DATABASE_URL: variable(
    primaryUrl.optional(),
    '',
    'PostgreSQL 17 or later with pg_trgm, for example postgres://portal:secret@db.internal:5432/portal',
    'Or several servers of which one takes writes: postgres://portal:secret@db1:5432,db2:5432/portal?target_session_attrs=read-write',
    'In user and password, the characters @ / : ? # must be percent-encoded. Not through a pooler that shares sessions.',
    'Leave empty to use the embedded PostgreSQL in DATA_DIR.',
  ),
  MIGRATION_DATABASE_URL: variable(
    primaryUrl.optional(),
    '',
    "The same database with the login that owns it, for migrations and operators' commands; it must be allowed to create roles at the first",
    'start. The login of DATABASE_URL is then a plain one, which is created if it is missing: docs/operations.md#database-logins',
    'If empty, the login of DATABASE_URL owns the database, and nothing in the database limits what the service can do.',
  ),
  WAREHOUSE_URL: variable(
    primaryUrl.optional(),
    '',
    "The address for reading and writing synced records, if it isn't DATABASE_URL: another node, or a pooler of the same database:",
    'docs/operations.md#connection-poolers',
  ),
  WAREHOUSE_FROM_URL: variable(
    primaryUrl.optional(),
    '',
    'While a warehouse moves to another server: the former server, where organizations that are not moved yet are read. The command',
    'move-to-citus needs a login that owns that database, the service a plain member of portal_service: docs/citus.md',
  ),
  READ_URL: variable(
    readUrls.optional(),
    '',
    'Read replicas of the records, separated by commas: lists, records, changes, views and exports are read there while they are up to date,',
    'with DATA_POOL_SIZE and EXPORT_POOL connections each: docs/scaling.md#read-replicas',
  ),
  ENCRYPTION_KEY: variable(
    encryptionKeys.optional(),
    '',
    'Encrypts stored secrets: <id>:<32 bytes in base64>, for example k1:$(openssl rand -base64 32)',
    'Several keys are separated by commas, the current one first. If empty outside production, a key is created in DATA_DIR.',
    'To rotate it: npm run admin -- rotate-encryption-key --help',
  ),
  CONTROL_POOL_SIZE: variable(
    integer(2, 100),
    '8',
    'PostgreSQL connections: for configuration and queues, for synced records (public reads use at most three quarters of them), and for',
    'looking up the API keys and versions of public requests.',
  ),
  DATA_POOL_SIZE: variable(integer(2, 100), '10'),
  LOOKUP_POOL_SIZE: variable(integer(1, 100), '2'),
  LOG_LEVEL: variable(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'info',
    'fatal, error, warn, info, debug, trace or silent.',
  ),
  TRUST_PROXY: variable(
    trustedProxies.default(false),
    '',
    "Proxies that are trusted to report the caller's address: a number of hops, a list of addresses and networks, or true for all.",
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    refineList(isOrigin, 'must be web origins such as https://shop.example, separated by commas'),
    '',
    'Web origins that may read the public interface from a browser, separated by commas. Leave empty to allow none.',
  ),
  /**
   * Whether everyone who signs in may create an account and an organization; otherwise an invitation or an
   * operator is needed.
   */
  allowSignup: setting(
    'ALLOW_SIGNUP',
    z.stringbool(),
    'false',
    'Whether anyone who can sign in may create an organization. Otherwise users need an invitation, or an operator creates organizations.',
  ),
  session: { idleMs: fixed(12 * 3_600_000), absoluteMs: fixed(7 * 86_400_000) },
  /** A person who belongs to this many organizations can't create another one. */
  maxOrganizationsPerPerson: setting(
    'ORGANIZATIONS_PER_PERSON',
    integer(0, 1_000_000),
    '50',
    'How many organizations a user may belong to and still create another one.',
  ),
  /** How many objects of each kind an organization may have at once. */
  quotas: setting(
    'ORGANIZATION_LIMITS',
    quotasOver(defaultQuotas),
    '',
    'Quotas per organization that differ from the defaults in docs/security.md, for example views=100,agents=5',
  ),
};
