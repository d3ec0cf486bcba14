// Settings of both interfaces: rates, load, exports and caches.
import { fixed, inBytes, inMs, setting, variable } from './declare.ts';
import { integer } from './values.ts';

export const interfaceSettings = {
  /** Requests per minute and credential on the management interface. */
  rateLimitPerMinute: setting(
    'RATE_LIMIT_PER_MINUTE',
    integer(1, 1_000_000),
    '60',
    'Requests per minute to the management interface, per API key or user; a visitor of a portal may send twice as many to it.',
  ),
  /** As above, of all keys and tokens of an organization together; absent: ten times as many as of one. */
  organizationRateLimitPerMinute: setting(
    'ORGANIZATION_RATE_LIMIT_PER_MINUTE',
    integer(1, 10_000_000).optional(),
    '',
    'Requests per minute to the management interface of all API keys and tokens of an organization together; those of people who are signed in',
    'with a session do not count. Empty: ten times RATE_LIMIT_PER_MINUTE.',
  ),
  /** A public read that takes longer gets a 503. */
  readTimeoutMs: setting(
    'READ_TIMEOUT_MS',
    integer(100, 600_000),
    '10000',
    'Milliseconds that a public read may take before the response is 503.',
  ),
  /** A page of several records with more bytes is refused; a page of changes ends before it has more. */
  maxAnswerBytes: inBytes(
    setting(
      'ANSWER_MB',
      integer(1, 256),
      '16',
      'Megabytes of records in a response of the public interface. A larger page of a list is 400 with the page size that fits.',
    ),
  ),
  /** How a version's reads are tested before it goes live. */
  proof: {
    /** A warm read that takes longer yields a warning. */
    warnMs: fixed(250),
    /** Time limit for the whole test. */
    budgetMs: fixed(600_000),
    /** Number of combinations of a filter and a sort that are tested at most. */
    maxPairs: fixed(2_000),
    /** With at most this many records, filters and sorts are tested once instead of in all combinations. */
    smallTableRecords: fixed(10_000),
  },
  /** Load limits of the public interface in this process. */
  publicLoad: {
    /** Concurrent requests; one organization gets at most half of them. */
    maxRequests: setting(
      'PUBLIC_REQUESTS',
      integer(1, 100_000),
      '1000',
      'Public requests in progress at once in this process (at most half of them from one organization), and milliseconds that one may wait for',
      'a connection. Beyond that the response is 503 with Retry-After.',
    ),
    /** How long a request may wait for a database connection. */
    maxWaitMs: setting('READ_WAIT_MS', integer(1, 600_000), '3000'),
    /** Large responses at once: their records are in memory until the client has read them. */
    maxLargeReads: fixed(8),
  },
  /** Streams of changes. They hold no request of `publicLoad`. */
  changeStreams: {
    /** One organization gets at most half of them. */
    maxOpen: setting(
      'PUBLIC_STREAMS',
      integer(1, 100_000),
      '2000',
      'Clients that follow changes over an open response; at most half of them of one organization. Beyond that the response is 503.',
    ),
    /** Of one API key, or of its tokens with the same subject. */
    maxPerCredential: fixed(50),
    /** How often a followed record type is read in case a notification was lost, and at most how often all of them. */
    pollMs: fixed(1_000),
    maxPollsPerSecond: fixed(100),
    /** How often a stream sends a sign of life, and its credential is checked while nothing changes. */
    heartbeatMs: fixed(15_000),
    /** Then the client has to reconnect: nothing else reveals one that vanished without closing its connection. */
    maxOpenMs: fixed(300_000),
  },
  HTTP_CONNECTIONS: variable(
    integer(1, 1_000_000),
    '10000',
    'Open client connections. Further ones are closed immediately. An idle connection takes about 14 KB of memory.',
  ),
  exports: {
    /** Concurrent exports in this process, each on a connection of its own. */
    maxRunning: setting(
      'EXPORT_POOL',
      integer(1, 50),
      '4',
      'Exports that run at once, each on its own connection, and exports that may wait. One organization gets at most half of each, rounded up.',
    ),
    /** Exports that may wait for one of those to end. */
    maxWaiting: setting('EXPORT_QUEUE', integer(0, 1_000), '32'),
    /** How long an export may wait, and how long it may then run. */
    maxDurationMs: inMs(
      setting(
        'EXPORT_SECONDS',
        integer(1, 86_400),
        '900',
        'Seconds that an export may wait, and may then run; and the bytes per second that its client must read, measured over a minute.',
      ),
    ),
    /** A client that reads less than this over `maxSlowMs` is disconnected. */
    minBytesPerSecond: setting('EXPORT_BYTES_PER_SECOND', integer(0, 100_000_000), '16384'),
    maxSlowMs: fixed(60_000),
  },
  /** How long a cached generation, API key or version state is used before its row is read again. */
  cacheTtlMs: fixed(1_000),
  /** How long what was looked up for public requests stays trusted while its database is unreachable. */
  trustDuringOutageMs: inMs(
    setting(
      'TRUST_DURING_OUTAGE_SECONDS',
      integer(0, 3_600),
      '0',
      'Seconds for which the public interface trusts an API key or version that it has looked up, while DATABASE_URL is unreachable. Reads from',
      'WAREHOUSE_URL then go on, and a key that is revoked meanwhile works for as long: docs/guarantees.md#the-control-database-is-unreachable',
    ),
  ),
  /**
   * Size limits of the public interface's caches in this process. 0 switches off `bodies`, `totals` or
   * `anchors`; the others need space.
   */
  cacheBytes: {
    /** Pages of lists as they were sent. */
    bodies: inBytes(
      setting(
        'BODY_CACHE_MB',
        integer(0, 65_536),
        '32',
        'Cache sizes in megabytes: response bodies (0 disables), totals, anchors of deep pages (0 disables), SQL texts (and as much again for query',
        'plans), lookups cached for one second (API keys, versions, generations: each as much), verified tokens of API keys (2 KB each), and',
        'compiled versions (and as much again for their descriptions). The least recently used entries are evicted first.',
      ),
    ),
    totals: inBytes(setting('TOTAL_CACHE_MB', integer(0, 4_096), '8')),
    /** Start positions of deep pages. */
    anchors: inBytes(setting('ANCHOR_CACHE_MB', integer(0, 4_096), '16')),
    /** SQL statement texts; the cache of query plans gets the same size in addition. */
    statements: inBytes(setting('STATEMENT_CACHE_MB', integer(1, 4_096), '16')),
    /** API keys, version states, generations: size of each of the caches, which hold for `cacheTtlMs`. */
    lookups: inBytes(setting('TRUSTED_CACHE_MB', integer(1, 4_096), '8')),
    /** Verified tokens of API keys, and what each may read. */
    tokens: inBytes(setting('TOKEN_CACHE_MB', integer(1, 4_096), '24')),
    /** Compiled versions; the cache of their descriptions gets the same size in addition. */
    versions: inBytes(setting('VERSION_CACHE_MB', integer(1, 4_096), '16')),
  },
  /** Every Nth record of a long list is kept as an anchor from which deep pages are read. */
  anchorEvery: fixed(1_000),
};
