// What a builder is: how to get an answer from one operation. Each group of operations has a file of builders in builders/.
import type fc from 'fast-check';
import type { Ctx } from '../../src/core/ctx.ts';
import type { Tx } from '../../src/db/transaction.ts';
import type { Erp } from '../setup/erp.ts';
import type { Answer } from './http.ts';

/** One request: what stands in the path, in the query and in the body. */
export type Sent = {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
};

/** An organization with its owner, made for one group of builders. */
export type Fixture = {
  readonly ctx: Ctx;
  readonly organization: { readonly id: string; readonly slug: string };
  readonly owner: { readonly id: string; readonly email: string };
  /** Id of the owner's session that the walk sends. */
  readonly sessionId: string;
  /** The simulated ERP, started when it is first asked for. */
  erp(): Promise<Erp>;
  /** As the owner; throws unless the answer is good. */
  api(method: string, path: string, body?: unknown): Promise<Answer>;
  /** In a transaction that sees this organization. */
  sql<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A number that this fixture has not given before, for names. */
  next(): number;
};

/** The field always has the value that `build` gave it; left out where it gave none. */
export const asBuilt = Symbol('as built');
/** By place: `body.schedule`, `body.fields[]`, `query.status`. */
export type Fields = Readonly<Record<string, fc.Arbitrary<unknown> | typeof asBuilt>>;

export type Builder = {
  /**
   * Prepares what the operation needs and gives a request that is answered well. Called for every request that may change
   * something, so it makes new objects each time. Fill every field that holds an id, optional ones too: the walk puts another
   * organization's id there. On another fixture it gives those ids.
   */
  readonly build: (fixture: Fixture) => Sent | Promise<Sent>;
  /** Values for fields whose form alone doesn't make them right; all others come from the route's schemas. */
  readonly fields?: Fields | ((fixture: Fixture) => Fields | Promise<Fields>);
  /** One prepared request takes many inputs: by default where the method is GET, PUT or PATCH. */
  readonly repeatable?: boolean;
  /** There is only one such object in an organization: requests must not overlap. */
  readonly alone?: boolean;
  /** How many rows of the audit log one call leaves, where it isn't one for a write; say why in a comment. */
  readonly auditRows?: number;
  /**
   * Codes of 403 answers that a caller who may call it can still meet: `escalation` where it grants something, say. The owner
   * never meets them.
   */
  readonly mayRefuse?: readonly string[];
  /** Takes the organization, or the caller's own credential, away with it: every request gets a fixture of its own. */
  readonly destroys?: boolean;
  /** A real round trip that costs: so many valid inputs, instead of fifty distinct ones and never under eight. */
  readonly inputs?: number;
};

export type BuilderGroup = {
  /** Prepares the fixture once. */
  readonly setUp?: (fixture: Fixture) => Promise<void>;
  readonly builders: Readonly<Record<string, Builder>>;
};
