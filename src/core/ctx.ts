// The dependencies of every function of the service, passed as its first argument: no container or singleton.
import type { Knex } from 'knex';
import type { Pool } from 'pg';
import type { Clock } from './clock.ts';
import type { AppError } from './errors.ts';
import type { Log } from './log.ts';
import type { GuardedFetch } from './network/guarded-fetch.ts';
import type { Permission } from './permissions.ts';
import type { RecordAccess } from './record-access.ts';
import type { Keyring } from './secrets/keyring.ts';
import type { Settings } from './settings.ts';
import type { AccountLimits } from './work/account-limits.ts';
import type { Semaphore } from './work/semaphore.ts';
import type { OpenSemaphore } from './work/shared-semaphores.ts';
import type { TrackedWork } from './work/tracked-work.ts';

/** LISTEN/NOTIFY on a connection of its own, open from the first subscription until the last ends. */
export type NotificationListener = {
  /**
   * Calls back for each notification on the channel, with its payload if it has one, and once without a
   * payload whenever listening starts or is restored after a break. Returns the function that unsubscribes.
   */
  subscribe(channel: string, onNotification: (payload?: string) => void): () => Promise<void>;
};

/** A read replica of the records. It may show an older state than the primary: public/read/replicas.ts. */
export type Replica = {
  /** Its number in READ_URL, from 1; a label of metrics. */
  readonly name: string;
  readonly data: Pool;
  readonly exports: Pool;
  /** Whether it responded within the last second. */
  isInUse(): boolean;
  /** Leaves it out until it responds to the next probe, ten times a second. */
  leaveOut(reason: unknown): void;
  /** How far it was at the last probe, in bytes of the write-ahead log. */
  position(): bigint;
  /** Age of the oldest write that it lacks; undefined while it is left out. */
  lagSeconds(): number | undefined;
};

/** The read-only former server of a warehouse that is being moved: see db/former-warehouse.ts. */
export type FormerWarehouse = {
  readonly data: Pool;
  readonly exports: Pool;
  /** Whether the organization's records are there. */
  holds(organizationId: string): boolean;
};

/** Whether a server can be reached, as far as this process knows. */
export type Availability = {
  /** Undefined while it can be reached. */
  unreachableForMs(): number | undefined;
  /** After a statement failed: resolves when it is known whether the server can be reached. Never rejects. */
  confirm(error: unknown): Promise<void>;
  /** Calls `onChange` at each change. Returns the function that unsubscribes. */
  watch(onChange: (isUnreachable: boolean) => void): () => void;
};

/**
 * The four connection pools to PostgreSQL. `control`: schema public, the queues and DDL. `lookups`: what the
 * public interface reads from schema public, in a pool of its own so that its callers can't exhaust
 * `control`. `data`: the tenants' schemas `wh_…`. `exports`: reads of those schemas that may last minutes, in
 * a pool of their own so that they can't exhaust `data`.
 */
export type Db = {
  readonly control: Knex;
  readonly lookups: Knex;
  readonly data: Pool;
  readonly exports: Pool;
  /** Empty without READ_URL. */
  readonly replicas: readonly Replica[];
  /** Only with WAREHOUSE_FROM_URL. */
  readonly former?: FormerWarehouse;
  /** The largest number of connections of each pool. */
  readonly maxConnections: Readonly<Record<'control' | 'lookups' | 'data' | 'exports', number>>;
  readonly notifications: NotificationListener;
  /** Whether the server of `control` and `lookups` can be reached. */
  readonly controlAvailability: Availability;
  /** Whether PostgreSQL is the embedded server: on this machine and used by this service alone. */
  readonly isEmbedded: boolean;
};

export type Ctx = {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: GuardedFetch;
  readonly keyring: Keyring;
  readonly settings: Settings;
  /** Background work that continues after its response was sent. */
  readonly work: TrackedWork;
  readonly erpLimits: AccountLimits;
  /** For limits that hold for all processes of the service; absent where it is one process. */
  readonly openSemaphore?: OpenSemaphore | undefined;
};

/**
 * What all reads of one process share. Made once, where the process is composed. What else it has is declared
 * by the public interface (`src/public/engine.ts`), and used there alone.
 */
export interface ReadEngine {
  /** Queue for lists, records and changes. */
  readonly reads: Semaphore;
}

/** For code that reads records. */
export type ReadingCtx = Ctx & { readonly reads: ReadEngine };

/** For work on behalf of one organization: a request or a sync run. */
export type TenantCtx = Ctx & { readonly organizationId: string };

/** What authenticated a request. */
export type Credential = {
  readonly kind: 'api-key' | 'oauth' | 'session';
  readonly id: string;
  /** Of an API key: names the secret of the request. Tokens that the key mints end with that secret. */
  readonly secretMark?: string;
  /** Of a token of an API key: its subject, empty for none. Such a caller may only read records. */
  readonly tokenSubject?: string;
};

/** An authenticated identity in one organization; the same type for all kinds of credentials. */
export type Principal = {
  readonly user: { readonly id: string; readonly email: string; readonly name: string };
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string };
  readonly role: { readonly id: string; readonly name: string };
  readonly permissions: ReadonlySet<Permission>;
  readonly credential: Credential;
  /** A public-only API key, or a token: on the management interface it may only call `GET /whoami`. */
  readonly isRestrictedKey: boolean;
  /** The published versions and resources that an API key is restricted to; an empty list means all. */
  readonly reads: RecordAccess;
  /**
   * An API key whose creator left the organization and that was reassigned to another member: it may not
   * create keys, extend their scopes or keep their secrets, and never counts as an owner.
   */
  readonly isTransferredKey: boolean;
  /** When the secret of an API key stops working; null when it has no end, and for tokens and sessions. */
  readonly expiresAt: Date | null;
};

/** The holder of a valid credential, before an organization is required. */
export type Caller = {
  readonly user: Principal['user'];
  readonly credential: Principal['credential'];
  /** An access token whose scope permits only reading, or an API key without write access. */
  readonly readOnly: boolean;
  /** Undefined while no organization is selected; `refusal` is then the error to throw. */
  readonly principal: Principal | undefined;
  readonly refusal: AppError | undefined;
  /**
   * Why writes are refused although an organization is selected: the session's active one is gone, and
   * `principal` is in the only one left. A page that still shows the former one must not change this one.
   */
  readonly writeRefusal: AppError | undefined;
};

type Request = {
  readonly requestId: string;
  readonly ip: string;
  /** Aborted when the client disconnects before the response is complete. */
  readonly disconnected: AbortSignal;
  /** Present when the request carries an Idempotency-Key. */
  readonly claim?: IdempotencyClaim;
};

/**
 * A running request's claim on its Idempotency-Key. Every write is recorded under the claim, and fails once
 * the claim is lost.
 */
export type IdempotencyClaim = { readonly id: string; isHeld(): boolean };

/** For requests of a caller who may not have selected an organization, or belongs to none. */
export type CallerCtx = ReadingCtx & Request & { readonly caller: Caller };

/** For requests in the caller's organization. */
export type RequestCtx = TenantCtx & CallerCtx & { readonly principal: Principal };
