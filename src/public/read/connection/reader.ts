// What a read needs of its process, and the published state of a record type that it reads: from the cache,
// or from the database.

import type { Clock } from '../../../core/clock.ts';
import type { Db } from '../../../core/ctx.ts';
import type { Log } from '../../../core/log.ts';
import type { Cache } from '../../../core/work/cache.ts';
import type { Semaphore } from '../../../core/work/semaphore.ts';
import { ForeignRole } from '../../../db/session.ts';
import { tenantSchema } from '../../../warehouse/tenant-schema.ts';
import type { OutputField } from '../../version/compile.ts';
import { buildStateSource, stateColumns } from '../sql/list-sql.ts';
import type { AnchorCache } from './anchors.ts';
import { asUnavailable, isUndefinedColumn, isUndefinedObject, notSynced, withOneRetry } from './failures.ts';
import type { LargePermit, LargeReads } from './large-reads.ts';
import type { ReplicaReads } from './replica-servers.ts';
import type { StatementRunner } from './statements.ts';
import type { TotalCache } from './totals.ts';

/** The published state of a record type at one moment. */
export type Freshness = {
  readonly table: string;
  readonly epoch: string;
  readonly generation: string;
  readonly rowCount: number;
  /**
   * Of the last published run, RFC 3339; null when it is unknown. Callers are shown `freshnessOfFields`
   * instead.
   */
  readonly syncedAt: string | null;
  readonly stale: Stale | null;
  /** Fields that were accepted as missing, by name, as JSON; null for none. */
  readonly accepted: string | null;
};

/**
 * The states of a read: of its own records, and of the related ones that these embed, in the order of their
 * expansions.
 */
export type ReadStates = { readonly freshness: Freshness; readonly related: readonly Freshness[] };

/** Whether both name the same content. */
export const isSameData = (a: Freshness, b: Freshness): boolean =>
  a.epoch === b.epoch && a.generation === b.generation;

/** Whether a state precedes another of the same table. */
export const isEarlierData = (a: Freshness | undefined, b: Freshness | undefined): boolean =>
  a !== undefined && b !== undefined && a.epoch === b.epoch && BigInt(a.generation) < BigInt(b.generation);

/** `since`: RFC 3339 UTC. */
export type ShownStaleField = { readonly name: string; readonly since: string };

/** The freshness of the fields that one reader is shown. */
export type ShownFreshness = {
  /** RFC 3339; the time of the last sync that could read all of these fields; null when it is unknown. */
  readonly syncedAt: string | null;
  readonly stale: readonly ShownStaleField[];
  /** The value of X-Data-Stale-Fields; empty when no field is stale. */
  readonly header: string;
};

/**
 * `text`: the stale fields as JSON, see `StaleFields`. `byFields`: what `freshnessOfFields` computed of it.
 */
type Stale = { readonly text: string; readonly byFields: WeakMap<readonly OutputField[], ShownFreshness> };

/** What the statements of one read share. */
export type ReadInProgress = {
  /** The time limit has passed: no further statement may start. */
  isOver: boolean;
  /** Takes a permit of the large reads, unless this read has one. Rejects with 503 when too many wait. */
  acquireLarge(): Promise<void>;
};

export type Reader = {
  /** Where the organization's records are. */
  readonly db: Pick<Db, 'data' | 'exports' | 'replicas' | 'former'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly organizationId: string;
  readonly states: Cache<Freshness | undefined>;
  readonly totals: TotalCache;
  readonly anchors: AnchorCache;
  /** Records to scan for a page while the total is unknown. */
  readonly scanLimit: number;
  /** On the primary. */
  readonly statements: StatementRunner;
  /** Undefined without replicas. */
  readonly replicas: ReplicaReads | undefined;
  /** Queue for the data connections, by organization. */
  readonly queue: Semaphore;
  /** Bytes of records that a page of several may have. */
  readonly maxAnswerBytes: number;
  /**
   * Reads of more than `maxTextBytes`, by organization: each holds its records in memory until they are sent.
   */
  readonly largeReads: LargeReads;
  /** Those of them whose records are coming from PostgreSQL. */
  readonly largeStatements: Semaphore;
  /**
   * Takes over the permit of a large read until its records are sent; without it, the permit ends with the
   * read.
   */
  readonly holdLarge?: (permit: LargePermit) => void;
  /** For a read as a whole. */
  readonly timeoutMs: number;
  readonly progress?: ReadInProgress;
  /**
   * Upgrades the organization's tables when an older version of this service made them. Rejects with 503
   * while they are locked.
   */
  readonly updateSchema: (organizationId: string) => Promise<void>;
};

/** The reader of one organization. */
export type ReaderOf = (organizationId: string) => Reader;

export type StateRow = {
  active_table: string | null;
  epoch: string | null;
  generation: string;
  row_count: string;
  synced_at: string | null;
  stale_fields: string | null;
  accepted_fields: string | null;
  /**
   * Of statements that read tables of other record types as well: the states of those; null for one that has
   * none.
   */
  related?: readonly (StateRow | null)[];
};

/**
 * The state of a row; undefined before the first publish. Throws ForeignRole when the statement ran with
 * another role.
 */
export function toFreshness(row: StateRow | undefined): Freshness | undefined {
  if (row === undefined || row.active_table === null || row.generation === '0') return undefined;
  if (row.epoch === null) throw new ForeignRole();
  return {
    table: row.active_table,
    epoch: row.epoch,
    generation: row.generation,
    rowCount: Number(row.row_count),
    syncedAt: row.synced_at,
    stale: row.stale_fields === null ? null : { text: row.stale_fields, byFields: new WeakMap() },
    accepted: row.accepted_fields,
  };
}

/** In the cache of states. */
export const stateKey = (reader: Reader, recordType: string): string =>
  `${reader.organizationId}/${recordType}`;

/** The cached state, when it is within its TTL. */
export const cachedFreshness = (reader: Reader, recordType: string): Freshness | undefined =>
  reader.states.findFresh(stateKey(reader, recordType));

/**
 * The current state; undefined when nothing has been published. Rejects with 503 when the database is
 * unavailable.
 */
export const findFreshness = (reader: Reader, recordType: string): Promise<Freshness | undefined> =>
  reader.states.load(stateKey(reader, recordType), () => readFreshness(reader, recordType));

/**
 * The current state, from the cache or the database. Rejects with 503 when nothing has been published or the
 * database is unavailable.
 */
export async function currentFreshness(reader: Reader, recordType: string): Promise<Freshness> {
  const found = await findFreshness(reader, recordType);
  if (found === undefined) throw notSynced();
  return found;
}

async function readFreshness(reader: Reader, recordType: string): Promise<Freshness | undefined> {
  const { queue, organizationId } = reader;
  const releasePermit = queue.tryAcquire(organizationId) ?? (await queue.acquire(organizationId));
  // The column that was added last: where it is missing, so are tables that reads under a row scope need.
  const text = `select ${stateColumns}, s.scope_pruned ${buildStateSource({ schema: tenantSchema(organizationId) })} where s.record_type = $1`;
  const read = () => withOneRetry(() => reader.db.data.query<StateRow>(text, [recordType]));
  try {
    const { rows } = await read().catch(async (error: unknown) => {
      if (!isUndefinedColumn(error)) throw error;
      await reader.updateSchema(organizationId);
      return read();
    });
    return toFreshness(rows[0]);
  } catch (error) {
    if (isUndefinedObject(error)) return undefined;
    throw asUnavailable(error);
  } finally {
    releasePermit();
  }
}
