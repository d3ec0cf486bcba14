// Whether the nodes can log in to each other as the roles that the service uses. Citus opens a connection as
// the role of the statement, so every node must accept portal_owner and portal_service from every other.
// Where it asks for a password, both roles get a random one, which Citus keeps in pg_dist_authinfo: a table
// of each node that only superusers can read.
import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { escapeIdentifier, escapeLiteral } from 'pg';
import { attempt, type Check, formatError } from './checks.ts';
import { type ClusterNode, runOnNode, withoutPropagation } from './cluster.ts';

type Link = { readonly from: string; readonly to: string };

/** Pairs of nodes: the first can't log in to the second as this role; null: as the login of this command. */
async function brokenLinks(coordinator: Knex, role: string | null): Promise<Link[]> {
  return coordinator.transaction(async (tx) => {
    if (role !== null) await tx.raw(`set local role ${escapeIdentifier(role)}`);
    const { rows } = await tx.raw<{ rows: Link[] }>(
      `select from_nodename || ':' || from_nodeport as "from", to_nodename || ':' || to_nodeport as "to"
       from citus_check_cluster_node_health() where result is not true`,
    );
    return rows;
  });
}

const listed = (links: readonly Link[]): string => links.map(({ from, to }) => `${from} to ${to}`).join(', ');

/** The password that the coordinator uses already, to be used on a new node as well. */
async function currentPassword(coordinator: Knex, role: string): Promise<string | undefined> {
  const { rows } = await coordinator.raw<{ rows: { authinfo: string }[] }>(
    'select authinfo from pg_catalog.pg_dist_authinfo where rolename = ? and nodeid = 0',
    [role],
  );
  return /^password=(\S+)$/.exec(rows[0]?.authinfo ?? '')?.[1];
}

/** Gives the role one password on all nodes, and each node that password for all others. */
async function setPassword(coordinator: Knex, nodes: readonly ClusterNode[], role: string): Promise<void> {
  const password = (await currentPassword(coordinator, role)) ?? randomBytes(24).toString('base64url');
  const statements = [
    `alter role ${escapeIdentifier(role)} password ${escapeLiteral(password)}`,
    `delete from pg_catalog.pg_dist_authinfo where rolename = ${escapeLiteral(role)}`,
    `insert into pg_catalog.pg_dist_authinfo (nodeid, rolename, authinfo) values (0, ${escapeLiteral(role)}, ${escapeLiteral(`password=${password}`)})`,
  ];
  for (const node of nodes) await runOnNode(coordinator, node, withoutPropagation(statements));
}

async function checkRole(coordinator: Knex, nodes: readonly ClusterNode[], role: string): Promise<Check> {
  const toDo = `let ${role} log in from each node to each other: docs/citus.md#let-the-nodes-log-in`;
  return attempt('all nodes', `${role} logs in from node to node`, toDo, async () => {
    if ((await brokenLinks(coordinator, role)).length === 0) return 'ok';
    await setPassword(coordinator, nodes, role);
    const broken = await brokenLinks(coordinator, role);
    if (broken.length > 0) throw new Error(`not from ${listed(broken)}`);
    return 'changed';
  });
}

/** Checks the login of this command, which only the operator can let in, then both roles. Never rejects. */
export async function checkNodeLogins(
  coordinator: Knex,
  nodes: readonly ClusterNode[],
  login: string,
): Promise<Check[]> {
  const check = `${login} logs in from node to node`;
  const toDo = `let ${login} log in from each node to each other: docs/citus.md#let-the-nodes-log-in`;
  try {
    const broken = await brokenLinks(coordinator, null);
    if (broken.length > 0)
      return [{ node: 'all nodes', check, state: 'missing', toDo: `${toDo} (not from ${listed(broken)})` }];
  } catch (error) {
    return [{ node: 'all nodes', check, state: 'missing', toDo: `${toDo} (${formatError(error)})` }];
  }
  const roles: Check[] = [];
  for (const role of ['portal_owner', 'portal_service'])
    roles.push(await checkRole(coordinator, nodes, role));
  return [{ node: 'all nodes', check, state: 'ok' }, ...roles];
}
