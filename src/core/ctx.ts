// What every function of the service may need, handed down as its first argument: no container, no singleton.
import type { Knex } from 'knex';
import type { Pool } from 'pg';
import type { Clock } from './clock.ts';
import type { AppError } from './errors.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { Keyring } from './keyring.ts';
import type { Log } from './log.ts';
import type { Permission } from './permissions.ts';
import type { Settings } from './settings.ts';

/**
 * The doors to PostgreSQL: `control` for schema public, the queue and DDL; `lookups` for what the public interface asks of schema
 * public, so that its callers never take a connection from anyone else; `data` for the tenants' schemas `wh_…`; `exports` for reads
 * of those that may last minutes, so that they never take a connection from the short ones.
 */
export type Db = {
  readonly control: Knex;
  readonly lookups: Knex;
  readonly data: Pool;
  readonly exports: Pool;
  /** The server is on this machine, and there for this service alone. */
  readonly isOwn: boolean;
};

export type Ctx = {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: GuardedFetch;
  readonly keyring: Keyring;
  readonly settings: Settings;
};

/** Work done for one organization: by a request or by a sync run. */
export type TenantCtx = Ctx & { readonly organizationId: string };

/** The one identity that all three credentials yield. */
export type Principal = {
  readonly user: { readonly id: string; readonly email: string; readonly name: string };
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string };
  readonly role: { readonly id: string; readonly name: string };
  readonly permissions: ReadonlySet<Permission>;
  readonly credential: { readonly kind: 'api-key' | 'oauth' | 'session'; readonly id: string };
  /** A key restricted to public versions or resources may only ask who it is. */
  readonly identityOnly: boolean;
  /** The published versions and resources that a key is kept to; empty means all. */
  readonly reads: { readonly versions: readonly string[]; readonly resources: readonly string[] };
  /** A key whose maker left and which now stands for someone else: it makes and widens no keys, and is never taken for an owner. */
  readonly handedOver: boolean;
};

/** Whoever holds a valid credential, before an organization is asked for. */
export type Caller = {
  readonly user: Principal['user'];
  readonly credential: Principal['credential'];
  /** A token whose scope bounds it to reading. */
  readonly readOnly: boolean;
  /** Undefined while no organization is chosen; `refusal` then says what is missing. */
  readonly principal: Principal | undefined;
  readonly refusal: AppError | undefined;
};

type Request = {
  readonly requestId: string;
  readonly ip: string;
  /** Aborted when whoever asked is gone before the answer was. */
  readonly gone: AbortSignal;
  /** Where it came with an Idempotency-Key. */
  readonly claim?: KeyClaim;
};

/** The hold of a request on its Idempotency-Key, while its handler runs: each write is noted under it, and none happens without it. */
export type KeyClaim = { readonly id: string; isHeld(): boolean };

/** Work done for a caller who may not have chosen an organization, or has none. */
export type CallerCtx = Ctx & Request & { readonly caller: Caller };

/** Work done for a request in the caller's organization. */
export type RequestCtx = TenantCtx & CallerCtx & { readonly principal: Principal };
