// Builders prepare a successful request for one operation. Each group of operations has a file of builders in
// builders/.
import type fc from 'fast-check';
import type { Ctx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import type { Tx } from '../../src/db/transaction.ts';
import { createTenantSchema, tenantSchema } from '../../src/warehouse/tenant-schema.ts';
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

/** Inserts a row of the organization, and resolves to its id. */
export async function insertRow(
  { sql, organization }: Pick<Fixture, 'sql' | 'organization'>,
  table: string,
  row: object,
): Promise<string> {
  const own = { id: createId(), organization_id: organization.id, ...row };
  await sql((tx) => tx(table).insert(own));
  return own.id;
}

/** Builds a request whose path has the id of a new object. */
export const byId = (make: (fixture: Fixture) => Promise<string>) => async (fixture: Fixture) => ({
  params: { id: await make(fixture) },
});

/**
 * Stores a record type as a complete run leaves it: `count` records with the ids from 1, and with `values`, which
 * is SQL of the id `n`, for these fields.
 */
export async function storeRecords(
  { ctx, organization }: Fixture,
  recordType: string,
  fields: Readonly<Record<string, 'text' | 'number'>>,
  [count, values]: readonly [count: number, values: string],
): Promise<void> {
  await createTenantSchema(ctx, organization.id);
  const schema = tenantSchema(organization.id);
  const columns = Object.entries(fields).map(([field, type], at) => ({
    name: `c${at + 1}`,
    field,
    type,
    at,
  }));
  const types = { text: 'text collate "C"', number: 'numeric' };
  await ctx.db.data.query(
    `create table ${schema}.${recordType}_1 (id bigint primary key, generation bigint not null default 1, content_hash bytea not null default '\\x00',
       ${columns.map(({ name, type }) => `${name} ${types[type]}`).join()});
     insert into ${schema}.${recordType}_1 (id, ${columns.map(({ name }) => name).join()}) select n, ${values} from generate_series(1, ${count}) as n;
     insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, synced_at)
       values ('${recordType}', 'integer', 1, ${count}, gen_random_uuid(), '${recordType}_1', now());
     insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, position)
       values ${columns.map(({ name, field, type, at }) => `('${recordType}', '${name}', '${field}', 'value', '${type}', 'live', ${at + 1})`).join()}`,
  );
}
