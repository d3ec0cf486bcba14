// The settings that features read from ctx. `config.ts` fills them from the environment; tests pass shorter
// times and smaller limits to the same code.

/** How many objects of each kind an organization may have at once; an operator overrides them with ORGANIZATION_LIMITS. */
export const defaultQuotas = {
  members: 10_000,
  invitations: 2_000,
  roles: 500,
  teams: 1_000,
  // This service checks each pending domain in DNS for a week.
  domains: 200,
  syncs: 500,
  views: 5_000,
  subscriptions: 1_000,
  apiKeys: 1_000,
  apiSchemas: 200,
  agents: 200,
  conversations: 50_000,
  pages: 1_000,
  templates: 1_000,
  fieldMappings: 500,
  checkouts: 10_000,
};
export type QuotaKind = keyof typeof defaultQuotas;

export type Settings = {
  readonly publicUrl: string;
  /** Address at which this process reaches itself; the sandbox delivers its webhook events there. */
  readonly ownUrl: string;
  /** The built-in payment provider. */
  readonly sandbox: {
    /** Whether checkouts may be paid with it: invoices are then marked as paid in the ERP although no money moves. */
    readonly allowed: boolean;
    /** How long its delayed outcomes take. */
    readonly delayMs: number;
    /** Interval of payouts; the windows are counted from the epoch. */
    readonly payoutEveryMs: number;
  };
  readonly production: boolean;
  /** Requests per minute and credential on the management interface. */
  readonly rateLimitPerMinute: number;
  /** Whether everyone who signs in may create an account and an organization; otherwise an invitation or an operator is needed. */
  readonly allowSignup: boolean;
  /** How many objects of each kind an organization may have at once. */
  readonly quotas: Readonly<Record<QuotaKind, number>>;
  /** A person who belongs to this many organizations can't create another one. */
  readonly maxOrganizationsPerPerson: number;
  readonly session: { readonly idleMs: number; readonly absoluteMs: number };
  /** How mail is sent: by SMTP, or to .eml files in `outboxFolder` when `smtpUrl` is null. */
  readonly mail: {
    readonly smtpUrl: string | null;
    readonly from: string;
    readonly outboxFolder: string;
    /** Larger files are not sent. */
    readonly maxAttachmentBytes: number;
    /** Per organization, in any 24 hours. */
    readonly maxSubscriptionMailsPerDay: number;
  };
  /** DNS servers for checking customers' domains, as address or address:port; empty means the system's resolvers. */
  readonly dnsServers: readonly string[];
  /** Credits granted to each organization at the start of a month (UTC). */
  readonly agentCreditsPerMonth: number;
  /** The language models that agents may use in addition to the built-in one, and how their providers are reached. */
  readonly models: {
    /** Each as `<provider>/<model>`; the first one is the default. */
    readonly names: readonly string[];
    readonly anthropic: { readonly apiKey: string; readonly baseUrl: string } | null;
    readonly openAiCompatible: { readonly apiKey: string | null; readonly baseUrl: string } | null;
  };
  /** Limits for answering one message to an agent. */
  readonly agents: {
    /** Calls of the model. */
    readonly steps: number;
    /** Read and written by the model over all steps. Both together determine how many credits a message may cost. */
    readonly inputTokens: number;
    readonly outputTokens: number;
    /** Of the conversation's earlier messages, estimated. */
    readonly historyTokens: number;
    /** Of one tool call's output. */
    readonly toolOutputBytes: number;
    readonly timeMs: number;
    /** After this time without renewal another process may take over a message or a check. */
    readonly leaseMs: number;
  };
  readonly corsOrigins: readonly string[];
  /** A public read that takes longer gets a 503. */
  readonly readTimeoutMs: number;
  /** How a version's reads are tested before it goes live. */
  readonly proof: {
    /** A warm read that takes longer yields a warning. */
    readonly warnMs: number;
    /** Time limit for the whole test. */
    readonly budgetMs: number;
    /** Number of combinations of a filter and a sort that are tested at most. */
    readonly maxPairs: number;
    /** With at most this many records, each filter and each sort is tested once instead of in all combinations. */
    readonly smallTableRecords: number;
  };
  /** Load limits of the public interface in this process. */
  readonly publicLoad: {
    /** Concurrent requests; one organization gets at most half of them. */
    readonly maxRequests: number;
    /** How long a request may wait for a database connection. */
    readonly maxWaitMs: number;
  };
  readonly exports: {
    /** Concurrent exports in this process, each on a connection of its own. */
    readonly maxRunning: number;
    /** Exports that may wait for one of those to end. */
    readonly maxWaiting: number;
    /** How long an export may wait, and how long it may then run. */
    readonly maxDurationMs: number;
    /** A client that reads less than this over `maxSlowMs` is disconnected. */
    readonly minBytesPerSecond: number;
    readonly maxSlowMs: number;
  };
  /** How long a cached generation, API key or version state is used before its row is read again. */
  readonly cacheTtlMs: number;
  /**
   * Size limits of the public interface's caches in this process. 0 switches off `bodies`, `totals` or `anchors`; the others need space.
   */
  readonly cacheBytes: {
    /** Pages of lists as they were sent. */
    readonly bodies: number;
    readonly totals: number;
    /** Start positions of deep pages. */
    readonly anchors: number;
    /** SQL statement texts; the cache of query plans gets the same size in addition. */
    readonly statements: number;
    /** API keys, version states and generations, each cached for `cacheTtlMs`; each of the three caches gets this size. */
    readonly lookups: number;
    /** Compiled versions; the cache of their descriptions gets the same size in addition. */
    readonly versions: number;
  };
  /** Every Nth record of a long list is kept as an anchor from which deep pages are read. */
  readonly anchorEvery: number;
  readonly erp: {
    /** Hosts that a connection may use in addition to *.suitetalk.api.netsuite.com, as host or host:port. */
    readonly allowedHosts: readonly string[];
    /** Concurrent requests of this process to one ERP account. */
    readonly concurrency: number;
    /** For one request including its response. */
    readonly requestTimeoutMs: number;
    /** A larger response is an error. */
    readonly maxResponseBytes: number;
  };
  readonly sync: {
    /** After this time without renewal another process may take over a run. */
    readonly leaseMs: number;
    /** Interval of lease renewals. */
    readonly renewMs: number;
    /** Delay before the first retry; it triples with each further attempt without progress, up to `retryMaxMs`. */
    readonly retryBaseMs: number;
    readonly retryMaxMs: number;
    /** A run fails after this many attempts in a row without progress. */
    readonly maxAttemptsWithoutProgress: number;
    /** Maximum number of records per page that is read from the ERP. */
    readonly pageSize: number;
    /** Concurrent runs in this process. */
    readonly workers: number;
    /** How old a swapped-out table must be before it is dropped. */
    readonly dropAfterMs: number;
    /** How far before the high-water mark an incremental run starts to read. */
    readonly overlapMs: number;
    /** Changes in the ERP may become visible late: the high-water mark stays this far behind the ERP's clock. */
    readonly settleMs: number;
    /** Maximum age of the last scan or full read, by the ERP's clock. */
    readonly scanEveryMs: number;
    /** Maximum age of the cached description of the ERP's record types when a run starts. */
    readonly metadataMaxAgeMs: number;
  };
  /** How the Stripe API is called for organizations that use it. */
  readonly stripe: {
    /** Without a path. */
    readonly apiUrl: string;
    /** For one request including its response. */
    readonly timeoutMs: number;
    /** Number of retries of a request that got no response, 409 or 5xx. */
    readonly retries: number;
  };
  readonly oidc: {
    readonly issuer: string;
    /** The identifier of this service as a resource (`aud` of access tokens), never a client id. */
    readonly audience: string;
    readonly jwksUri: string;
    /** Requested once per person for a verified e-mail address when the token carries none. */
    readonly userinfoUri: string | null;
    /** This service's registration as a client of the provider, for sign-in in the browser; null switches sign-in off. */
    readonly client: { readonly id: string; readonly secret: string | null } | null;
  } | null;
};
