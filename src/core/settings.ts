// The tunable numbers and switches that features read from ctx. `config.ts` fills them from the environment; tests pass
// short values to the same code.

/** How many of each an organization may have at once, unless an operator says otherwise. */
export const mostByDefault = {
  members: 10_000,
  invitations: 2_000,
  roles: 500,
  teams: 1_000,
  // Each is looked up for a week, at this service's expense.
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
export type BoundedKind = keyof typeof mostByDefault;

export type Settings = {
  readonly publicUrl: string;
  /** Where this process listens, for itself: there the sandbox's events go. */
  readonly ownUrl: string;
  /** The built-in payment provider's clock. */
  readonly sandbox: {
    /** Whether checkouts may be paid there: they pay invoices in the ERP, and no money moves. */
    readonly allowed: boolean;
    /** How long what does not happen at once takes. */
    readonly laterMs: number;
    /** What was taken is paid out so often, by windows counted from the epoch. */
    readonly payoutEveryMs: number;
  };
  readonly production: boolean;
  /** Requests a minute for one credential on the management interface. */
  readonly rateLimitPerMinute: number;
  /** Whether anyone who signs in may make an account and an organization; else an invitation or an operator does. */
  readonly allowSignup: boolean;
  /** How many of each an organization may have at once. */
  readonly mostPerOrganization: Readonly<Record<BoundedKind, number>>;
  /** How many organizations a person may belong to and still make another one. */
  readonly mostOrganizationsPerPerson: number;
  readonly session: { readonly idleMs: number; readonly absoluteMs: number };
  /** How mail leaves: by SMTP, or as .eml files. */
  readonly mail: {
    readonly smtpUrl: string | null;
    readonly from: string;
    readonly outboxFolder: string;
    /** A larger file is not sent. */
    readonly mostAttachmentBytes: number;
    /** Of one organization, within any 24 hours. */
    readonly mostSubscriptionMailsPerDay: number;
  };
  /** Resolvers for looking up customers' domains, as address or address:port; empty means the system's. */
  readonly dnsServers: readonly string[];
  /** What each organization is granted at the start of a month (UTC). */
  readonly agentCreditsPerMonth: number;
  /** The language models that agents may use besides the built-in one, and how their providers are reached. */
  readonly models: {
    /** As `<provider>/<model>`, the default first. */
    readonly names: readonly string[];
    readonly anthropic: { readonly apiKey: string; readonly baseUrl: string } | null;
    readonly openAiCompatible: { readonly apiKey: string | null; readonly baseUrl: string } | null;
  };
  /** What one message to an agent may take. */
  readonly agents: {
    /** Calls of the model. */
    readonly steps: number;
    /** Read by the model over all steps, and written by it. Together they say how many credits a message may cost. */
    readonly inputTokens: number;
    readonly outputTokens: number;
    /** Of the conversation before it, by estimate. */
    readonly historyTokens: number;
    /** Of one tool's answer. */
    readonly toolOutputBytes: number;
    readonly timeMs: number;
    /** How long a message or a check belongs to a process that says nothing more. */
    readonly leaseMs: number;
  };
  readonly corsOrigins: readonly string[];
  /** Longest a public read may run before it is answered 503. */
  readonly readTimeoutMs: number;
  /** How the reads of a version are tried before it goes live. */
  readonly proof: {
    /** A warm read that takes longer is a warning. */
    readonly warnMs: number;
    /** Tried at most for so long. */
    readonly budgetMs: number;
    readonly mostPairs: number;
    /** Over so few records each filter and each sort is tried once rather than every pair of them. */
    readonly fewRecords: number;
  };
  /** What the public interface may take of this process at once. */
  readonly publicLoad: {
    /** Requests under way, of one organization at most half of them. */
    readonly requests: number;
    /** How long they wait for a connection at most. */
    readonly waitMs: number;
  };
  readonly exports: {
    /** Exports that run at once in this process, each on a connection of its own. */
    readonly running: number;
    /** Exports that may wait for one of those to end. */
    readonly waiting: number;
    /** How long an export may wait, and how long it may then last. */
    readonly limitMs: number;
    /** A caller that takes less than this, for as long as `slowMs`, is cut off. */
    readonly slowestBytesPerSecond: number;
    readonly slowMs: number;
  };
  /** How long a generation, key or total in memory is trusted since its row was last read. */
  readonly trustMs: number;
  /** How many bytes this process may keep of what the public interface reads; 0 keeps nothing of that kind. */
  readonly cacheBytes: {
    /** Pages of lists as they were sent. */
    readonly bodies: number;
    readonly totals: number;
    /** Where deep pages begin. */
    readonly anchors: number;
    /** Texts of SQL statements, and as much again for queries as they were understood. */
    readonly statements: number;
    /** Keys, versions' states and generations, which are trusted for `trustMs`; each of the three has so much. */
    readonly trusted: number;
    /** Compiled versions, and as much again for their descriptions. */
    readonly versions: number;
  };
  /** Every so manyth record of a long list is remembered as a place where deep pages begin. */
  readonly anchorEvery: number;
  readonly erp: {
    /** Hosts besides *.suitetalk.api.netsuite.com that a connection may name, as host or host:port. */
    readonly allowedHosts: readonly string[];
    readonly concurrency: number;
    readonly requestTimeoutMs: number;
    readonly maxResponseBytes: number;
  };
  readonly sync: {
    readonly leaseMs: number;
    readonly renewMs: number;
    readonly retryBaseMs: number;
    readonly retryMaxMs: number;
    readonly maxAttempts: number;
    readonly pageSize: number;
    /** Runs that this process works on at once. */
    readonly workers: number;
    /** How old a swapped-out table must be before it is dropped. */
    readonly dropAfterMs: number;
    /** How far before the high-water mark an incremental run begins to read. */
    readonly overlapMs: number;
    /** What the ERP changed so shortly ago may not be visible yet: the high-water mark stays behind its clock by this. */
    readonly settleMs: number;
    /** How old the last complete scan may be, by the ERP's clock. */
    readonly reconcileEveryMs: number;
    /** How old the description of the ERP's record types may be when a run begins. */
    readonly metadataMaxAgeMs: number;
  };
  /** How Stripe is called, by organizations whose payments it takes. */
  readonly stripe: {
    /** Its address, without a path. */
    readonly apiUrl: string;
    /** For one request with its answer. */
    readonly timeoutMs: number;
    /** Of a request that got no answer, or 409 or 5xx. */
    readonly retries: number;
  };
  readonly oidc: {
    readonly issuer: string;
    /** This service's own name as a resource, never a client id. */
    readonly audience: string;
    readonly jwksUri: string;
    /** Asked once per person for a verified e-mail, where tokens carry none. */
    readonly userinfoUri: string | null;
    /** This service as a client of the provider, for signing people in; null: sign-in is off. */
    readonly client: { readonly id: string; readonly secret: string | null } | null;
  } | null;
};
