// The former server of a warehouse that is being moved (WAREHOUSE_FROM_URL). Organizations that are not moved
// yet are read there. No process of the service can write there.
import type { Knex } from 'knex';
import type { Db, FormerWarehouse } from '../core/ctx.ts';
import type { Log } from '../core/log.ts';
import { startRecurring } from '../core/work/recurring.ts';
import { type DatabaseAddress, locate, openReadPools, poolConfig } from './connect.ts';
import { monitorDatabaseLiveness } from './liveness.ts';
import { UnusableDatabase } from './unusable-database.ts';

/** How long a process may use an organization's former location, plus the time of one query. */
const refreshEveryMs = 250;

const listOnFormerServer = async (lookups: Knex): Promise<string[]> =>
  (await lookups.raw<{ rows: { id: string }[] }>('select id from organizations_elsewhere()')).rows.map(
    ({ id }) => id,
  );

/** Rejects with UnusableDatabase when organizations are on a former server whose address is missing. */
export async function assertNoneOnFormerServer({ lookups }: Pick<Db, 'lookups'>): Promise<void> {
  const { length } = await listOnFormerServer(lookups);
  if (length === 0) return;
  throw new UnusableDatabase(
    `${length === 1 ? 'The records of one organization are' : `The records of ${length} organizations are`} still on the former server. Set ` +
      'WAREHOUSE_FROM_URL to its address until move-to-citus has moved them all: docs/citus.md',
  );
}

type Parts = {
  readonly lookups: Knex;
  readonly sizes: { readonly data: number; readonly exports: number };
  readonly readTimeoutMs: number;
  readonly log: Pick<Log, 'warn' | 'info'>;
};

export type OpenFormerWarehouse = FormerWarehouse & { close(): Promise<void> };

/** Opens the pools to the former server and reads which organizations are there; rejects if it can't. */
export async function openFormerWarehouse(
  given: DatabaseAddress,
  { lookups, sizes, readTimeoutMs, log }: Parts,
): Promise<OpenFormerWarehouse> {
  let held: ReadonlySet<string> = new Set();
  const refresh = async (): Promise<void> => {
    held = new Set(await listOnFormerServer(lookups));
  };
  await refresh();
  if (held.size === 0) log.info('every organization has been moved: WAREHOUSE_FROM_URL is no longer needed');
  const address = locate(given);
  const liveness = monitorDatabaseLiveness(poolConfig(address, 'portal_service'), log);
  const { data, exports } = openReadPools(
    address,
    sizes,
    readTimeoutMs,
    { stream: liveness.openSocket },
    { readOnly: true },
  );
  const refreshing = startRecurring(refreshEveryMs, refresh, (err) =>
    log.warn({ err }, 'could not read which organizations are being moved'),
  );
  return {
    data,
    exports,
    holds: (organizationId) => held.has(organizationId),
    close: async () => {
      await refreshing.stop();
      await Promise.all([data.end(), exports.end()]);
      await liveness.close();
    },
  };
}

/** The pools of the server that has the organization's records. Nothing else chooses between the two. */
export function chooseWarehouse<D extends Pick<Db, 'data' | 'exports' | 'replicas' | 'former'>>(
  db: D,
  organizationId: string,
): D {
  const { former } = db;
  return former?.holds(organizationId) === true
    ? { ...db, data: former.data, exports: former.exports, replicas: [] }
    : db;
}

/** Whether a reader that was created for the organization reads where its records are now. */
export const isReaderCurrent = ({
  db,
  organizationId,
}: {
  db: Pick<Db, 'data' | 'former'>;
  organizationId: string;
}): boolean => db.former === undefined || db.former.holds(organizationId) === (db.data === db.former.data);

/**
 * Whether the organization's records are on the former server: nothing may write them, and no table may be
 * created for them here.
 */
export const isOnFormerServer = ({ former }: Pick<Db, 'former'>, organizationId: string): boolean =>
  former?.holds(organizationId) === true;
