// Builders prepare a successful request for one operation. Each group of operations has a file of builders in
// builders/.
import type fc from 'fast-check';
import type { Ctx } from '../../src/core/ctx.ts';
import type { Tx } from '../../src/db/transaction.ts';
import type { Erp } from '../setup/erp.ts';
import type { Answer } from './http.ts';

/** One request: its path parameters, query and body. */
export type Sent = {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
};

/** An organization with its owner, created for one group of builders. */
export type Fixture = {
  readonly ctx: Ctx;
  readonly organization: { readonly id: string; readonly slug: string };
  readonly owner: { readonly id: string; readonly email: string };
  /** Id of the owner's session that the walk sends. */
  readonly sessionId: string;
  /** The simulated ERP, started on first use. */
  erp(): Promise<Erp>;
  /** Calls as the owner; throws unless the response is a success. */
  api(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Works in a transaction that sees this organization. */
  sql<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A number that this fixture has not returned before, for names. */
  next(): number;
};

/** The field always has the value from `build`; it is omitted where `build` gives none. */
export const asBuilt = Symbol('as built');
/** By path: `body.schedule`, `body.fields[]`, `query.status`. */
export type Fields = Readonly<Record<string, fc.Arbitrary<unknown> | typeof asBuilt>>;

export type Builder = {
  /**
   * Prepares what the operation needs and returns a request that succeeds. Called for every request that may
   * change something, so it creates new objects each time. Fill every field that holds an id, optional ones
   * too: the walk puts another organization's id there. Called with another fixture, it returns those ids.
   */
  readonly build: (fixture: Fixture) => Sent | Promise<Sent>;
  /**
   * Values for fields that need more than the right type; all others are generated from the route's schemas.
   */
  readonly fields?: Fields | ((fixture: Fixture) => Fields | Promise<Fields>);
  /** Whether one prepared request can take many inputs; by default for GET, PUT and PATCH. */
  readonly repeatable?: boolean;
  /** There is only one such object in an organization: requests must not overlap. */
  readonly alone?: boolean;
  /** How many audit log rows one call writes, if not one per write; say why in a comment. */
  readonly auditRows?: number;
  /**
   * Detail codes of 403 responses that a caller with the permission can still get, such as `escalation`. The
   * owner never gets them.
   */
  readonly mayRefuse?: readonly string[];
  /** Deletes the organization or the caller's own credential, so every request gets its own fixture. */
  readonly destroys?: boolean;
  /**
   * The number of valid inputs for an expensive round trip, instead of fifty distinct ones and never under
   * eight.
   */
  readonly inputs?: number;
};

export type BuilderGroup = {
  /** Prepares the fixture once. */
  readonly setUp?: (fixture: Fixture) => Promise<void>;
  readonly builders: Readonly<Record<string, Builder>>;
};
