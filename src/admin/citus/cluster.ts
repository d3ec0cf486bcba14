// The nodes of a Citus cluster as its coordinator knows them, and statements run on one of them through the
// coordinator, which also proves that the nodes reach each other.
import type { Knex } from 'knex';
import { escapeLiteral } from 'pg';
import { z } from 'zod';
import { parseDatabaseUrl } from '../../core/network/database-url.ts';
import { openKnex } from '../../db/connect.ts';
import { createServerFinder } from '../../db/server-finder.ts';

export type Address = { readonly host: string; readonly port: number };
export type ClusterNode = Address & {
  readonly id: number;
  readonly isCoordinator: boolean;
  readonly isActive: boolean;
  /** Whether it can serve as WAREHOUSE_URL. */
  readonly hasMetadata: boolean;
  readonly takesRecords: boolean;
};

export const formatAddress = ({ host, port }: Address): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** Undefined when these aren't addresses. */
function parseAddresses(text: string): Address[] | undefined {
  const parsed = parseDatabaseUrl(`postgres://${text}/`);
  if (typeof parsed === 'string' || text.includes('@')) return undefined;
  const found = parsed.hosts.flatMap(({ host, port }) =>
    host === null ? [] : [{ host, port: port ?? 5432 }],
  );
  return found.length === parsed.hosts.length ? found : undefined;
}

const notAddresses = (context: z.core.$RefinementCtx): never => {
  context.addIssue({ code: 'custom', message: 'must be host:port' });
  return z.NEVER;
};

/** `host:port` as an option of a command; the port is 5432 by default. */
export const OneAddress = z.string().transform((text, context): Address => {
  const [address, ...others] = parseAddresses(text) ?? [];
  return address === undefined || others.length > 0 ? notAddresses(context) : address;
});
/** One or more of them, separated by commas. */
export const Addresses = z
  .string()
  .transform((text, context): Address[] => parseAddresses(text) ?? notAddresses(context));

/** The coordinator first. Empty before the coordinator is registered. */
export async function listClusterNodes(coordinator: Knex): Promise<ClusterNode[]> {
  const { rows } = await coordinator.raw<{ rows: ClusterNode[] }>(
    `select nodeid as id, nodename as host, nodeport as port, groupid = 0 as "isCoordinator", isactive as "isActive",
            hasmetadata and metadatasynced as "hasMetadata", shouldhaveshards as "takesRecords"
     from pg_dist_node where noderole = 'primary' order by groupid`,
  );
  return rows;
}

/** First column of the first row as text. Rejects with the node's message if it refuses or is unreachable. */
export async function runOnNode(coordinator: Knex, node: ClusterNode, sql: string): Promise<string> {
  if (node.isCoordinator) {
    const { rows } = await coordinator.raw<{ rows?: Readonly<Record<string, unknown>>[] }>(
      sql.replaceAll('?', '\\?'),
    );
    return String(Object.values(rows?.[0] ?? {})[0] ?? '');
  }
  const { rows } = await coordinator.raw<{ rows: { success: boolean; result: string }[] }>(
    'select success, result from master_run_on_worker(array[?::text], array[?::integer], array[?::text], false)',
    [node.host, node.port, sql],
  );
  const [answer] = rows;
  if (answer?.success !== true) throw new Error(answer?.result ?? `${formatAddress(node)} didn't respond`);
  return answer.result;
}

/** One statement that runs these without Citus repeating them on the other nodes. */
export function withoutPropagation(statements: readonly string[]): string {
  const each = statements.map((statement) => `execute ${escapeLiteral(statement)};`).join(' ');
  return `do ${escapeLiteral(`begin perform set_config('citus.enable_ddl_propagation', 'off', true); ${each} end`)}`;
}

/**
 * The server that an address means: the suitable one of several. Its host may be the folder of a socket.
 * Rejects with NoSuitableServer when none is suitable, and with an Error when the address names none.
 */
export async function findServer(url: string): Promise<Address> {
  const parsed = parseDatabaseUrl(url);
  const [first, ...others] = typeof parsed === 'string' ? [] : parsed.hosts;
  if (first === undefined || first.host === null)
    throw new Error('The address of the database names no host');
  // A single one may lack the database.
  if (others.length === 0) return { host: first.host, port: first.port ?? 5432 };
  const { host, port } = await createServerFinder(url).find();
  return { host, port };
}

/** The same login and settings at another server, with `database` if given. Throws if `url` is no address. */
export function urlAt(url: string, server: Address, database?: string): string {
  const parsed = parseDatabaseUrl(url);
  if (typeof parsed === 'string') throw new Error(`The address of the database ${parsed}`);
  const at = parsed.buildUrl(server);
  return database === undefined
    ? at
    : at.replace(/^(postgres:\/\/[^/?]*\/)[^?]*/, `$1${encodeURIComponent(database)}`);
}

/** The name of the database in an address. */
export const parseDatabaseName = (url: string): string =>
  decodeURIComponent(/^postgres(?:ql)?:\/\/[^/?]*\/([^?]*)/.exec(url)?.[1] ?? '');

/** Opens one connection with the login of the address, and closes it again. */
export async function withConnection<T>(url: string, work: (connection: Knex) => Promise<T>): Promise<T> {
  const connection = openKnex(url, null, 1);
  try {
    return await work(connection);
  } finally {
    await connection.destroy();
  }
}
