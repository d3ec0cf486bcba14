// Moves the service from one PostgreSQL to another, usually a Citus cluster: first the configuration, in an
// announced pause, then the records of each organization while they are read.
import { z } from 'zod';
import { connectClient, poolConfig } from '../db/connect.ts';
import { tryExclusiveLock } from '../db/exclusive-lock.ts';
import { assertMigrated, migrate } from '../db/migrate.ts';
import {
  CannotMove,
  cancelControlMove,
  type Databases,
  listProcesses,
  moveControl,
} from '../move/control-move.ts';
import { type Moves, moveOrganizations } from '../move/organization-moves.ts';
import { listOutdatedOrganizations } from '../warehouse/tenant-schema.ts';
import {
  defineServerCommand,
  flag,
  type Outcome,
  option,
  RefusedCommand,
  type ServerAddresses,
} from './command.ts';

type Addresses = { readonly former: string; readonly owner: string };

/** The address without credentials and parameters. */
const redactUrl = (url: string): string => url.replace(/^[a-z]+:\/\/(?:[^@/]*@)?/i, '').replace(/\?.*$/, '');

type Connections = Databases & {
  readonly records: { readonly source: Databases['source']; readonly target: Databases['target'] };
};

/** Runs `work` with connections to both databases, then closes them. Rejects as these and `work` do. */
async function withConnections<T>(
  { former, owner }: Addresses,
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  const opened: { end(): Promise<void> }[] = [];
  const open = async (url: string, role: 'portal_owner' | 'portal_service') => {
    const client = await connectClient(poolConfig(url, role))();
    // A connection that breaks fails its statement; without a listener the event would end the process.
    client.on('error', () => undefined);
    opened.push(client);
    // It is idle while others copy.
    await client.query('set idle_session_timeout = 0');
    return client;
  };
  try {
    const [source, target] = [await open(former, 'portal_owner'), await open(owner, 'portal_owner')];
    const records = {
      source: await open(former, 'portal_service'),
      target: await open(owner, 'portal_service'),
    };
    return await work({
      source,
      target,
      records,
      names: { source: redactUrl(former), target: redactUrl(owner) },
    });
  } finally {
    await Promise.all(opened.map((client) => client.end()));
  }
}

const next = (target: string, source: string): string =>
  `The configuration is in ${target}. Now:
1. Start the service with DATABASE_URL, MIGRATION_DATABASE_URL and, if wanted, WAREHOUSE_URL at ${target}, and WAREHOUSE_FROM_URL at ${source}.
2. Send all requests there, and stop the processes that still use ${source}: they read on, and don't see a revoked key.
3. Run this command again. It moves the records of each organization; run it again after any interruption.`;

function describe({ moved, failed, dropped }: Moves): Outcome {
  const rows = moved.reduce((sum, organization) => sum + organization.rows, 0);
  const lines = [
    `Moved ${moved.length === 1 ? 'one organization' : `${moved.length} organizations`} with ${rows} rows.`,
    ...(dropped === 0
      ? []
      : [`Dropped the records of ${dropped} deleted organizations on the former server.`]),
    ...failed.map(({ slug, reason }) => `Not moved: ${slug}: ${reason}`),
    failed.length === 0
      ? 'Every organization is moved: remove WAREHOUSE_FROM_URL, restart the processes one after the other, and keep a backup of the former server.'
      : 'Run the command again for those that were not moved. They are read from the former server, and their syncs wait.',
  ];
  return { json: { moved, failed, dropped }, text: lines.join('\n'), incomplete: failed.length > 0 };
}

/** Rejects with CannotMove while tables of organizations are those of an earlier version. */
async function assertTablesAreCurrent({ records, names }: Connections): Promise<void> {
  const outdated = await listOutdatedOrganizations(records.source);
  if (outdated.length > 0)
    throw new CannotMove(
      `The tables of ${outdated.length} organizations in ${names.source} are from an earlier version: start this version there first, and wait ` +
        'until its log says that the warehouses are upgraded.',
    );
}

async function move(connections: Connections, waitSeconds: number, progress: (line: string) => void) {
  const { source, target, records, names } = connections;
  await assertTablesAreCurrent(connections);
  const rows = await moveControl(connections, { waitSeconds, progress });
  const running = await listProcesses(source);
  if (rows !== undefined) {
    const text = `Moved ${rows} rows of configuration.\n${next(names.target, names.source)}`;
    return { json: { configuration: { rows }, moved: [], failed: [], dropped: 0 }, text, incomplete: true };
  }
  if (running.length > 0)
    throw new CannotMove(
      `These processes still use ${names.source}: ${running.join(', ')}. Stop them before records are moved, then repeat the command.`,
    );
  return describe(await moveOrganizations({ ...records, control: target }, progress));
}

async function execute(
  { owner, former, progress }: ServerAddresses,
  { cancel, wait }: { cancel: boolean; wait: number },
): Promise<Outcome> {
  if (former === undefined)
    throw new RefusedCommand(
      'move-to-citus needs WAREHOUSE_FROM_URL, the address of the former database with its owner.',
    );
  if (former === owner)
    throw new RefusedCommand('WAREHOUSE_FROM_URL and the address of the new database are the same.');
  await assertMigrated(former, 'WAREHOUSE_FROM_URL');
  await migrate(owner, 'MIGRATION_DATABASE_URL');
  const release = await tryExclusiveLock(owner, 'portal-service move');
  if (release === undefined) throw new RefusedCommand('Another move is in progress. Wait for it to end.');
  try {
    return await withConnections({ former, owner }, async (connections) => {
      if (!cancel) return move(connections, wait, progress);
      const ended = await cancelControlMove(connections);
      return {
        json: { cancelled: ended },
        text: ended ? 'The pause is over; nothing was moved.' : 'There is nothing to cancel.',
      };
    });
  } catch (error) {
    throw error instanceof CannotMove ? new RefusedCommand(error.message) : error;
  } finally {
    await release();
  }
}

export const moveToCitusCommand = defineServerCommand({
  name: 'move-to-citus',
  summary: 'Moves the service from another PostgreSQL to the one in DATABASE_URL, usually a Citus cluster.',
  about: `WAREHOUSE_FROM_URL names the former database with a login that owns it, MIGRATION_DATABASE_URL (or DATABASE_URL) the new one, which must be
empty and on Citus be prepared with prepare-citus. Both have this version. The new one need not be Citus.

The first call moves the configuration in one pause: requests that may write get 503, syncs are handed over, and reads of the public interface go
on. Then start the service on the new database with WAREHOUSE_FROM_URL, stop the former processes, and call it again: it moves the records of one
organization after the other. Each is read from the former server until its copy is complete and equal; its syncs wait meanwhile. After any
interruption, call it again. docs/citus.md describes every step.`,
  input: z.strictObject({
    cancel: flag('ends the pause of a first call that was interrupted'),
    wait: option(
      z.coerce.number().int().min(1).max(3_600).default(90),
      'seconds',
      'how long to wait until every process has stopped writing',
    ),
  }),
  run: execute,
});
