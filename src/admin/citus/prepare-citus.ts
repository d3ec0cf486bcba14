// Prepares a Citus cluster for the service, before the first migration and whenever a node is added.
import type { Knex } from 'knex';
import { z } from 'zod';
import { type ServiceLogin, toServiceLogin } from '../../db/service-login.ts';
import { explainDatabaseError } from '../../db/unusable-database.ts';
import { defineServerCommand, option, RefusedCommand, type ServerAddresses } from '../command.ts';
import { textTable } from '../text-table.ts';
import { type Check, type CheckState, formatError } from './checks.ts';
import {
  type Address,
  Addresses,
  type ClusterNode,
  findServer,
  formatAddress,
  listClusterNodes,
  OneAddress,
  runOnNode,
  urlAt,
  withConnection,
  withoutPropagation,
} from './cluster.ts';
import { isCitusLoaded, NodeFacts, nodeRules, type Rule, readNodeFacts } from './node-facts.ts';
import { checkNodeLogins } from './node-logins.ts';
import { ensureDatabase, registerNodes } from './register-nodes.ts';

const parseFacts = (text: string): NodeFacts => NodeFacts.parse(JSON.parse(text));

/** Repairs what can be repaired on one node, rule by rule, and checks each of them. */
async function checkNode(coordinator: Knex, node: ClusterNode, rules: readonly Rule[], readFacts: string) {
  const place = formatAddress(node);
  const checks: Check[] = [];
  let facts = parseFacts(await runOnNode(coordinator, node, readFacts));
  for (const rule of rules) {
    let state: CheckState = rule.isMet(facts) ? 'ok' : 'missing';
    const statements = state === 'ok' ? [] : rule.repair(facts);
    let failure = '';
    if (statements.length > 0) {
      await runOnNode(coordinator, node, withoutPropagation(statements)).catch((error: unknown) => {
        failure = ` (${formatError(error)})`;
      });
      facts = parseFacts(await runOnNode(coordinator, node, readFacts));
      if (rule.isMet(facts)) state = 'changed';
    }
    checks.push({
      node: place,
      check: rule.check,
      state,
      ...(state === 'missing' && { toDo: `${rule.toDo(facts)}${failure}` }),
    });
  }
  return checks;
}

/** Never rejects: a node that doesn't respond is a missing check. */
async function checkNodes(
  coordinator: Knex,
  nodes: readonly ClusterNode[],
  database: string,
  login: ServiceLogin | undefined,
): Promise<Check[]> {
  const rules = nodeRules(database, login);
  const readFacts = readNodeFacts(login === undefined ? [] : [login.user]);
  const checks: Check[] = [];
  for (const node of nodes) {
    const place = formatAddress(node);
    const unusable = (check: string, toDo: string): Check => ({ node: place, check, state: 'missing', toDo });
    try {
      checks.push(...(await checkNode(coordinator, node, rules, readFacts)));
      if (!node.isActive || !node.hasMetadata)
        checks.push(
          unusable(
            'metadata',
            `run on the coordinator: select citus_activate_node('${node.host}', ${node.port})`,
          ),
        );
    } catch (error) {
      checks.push(
        unusable('responds', `start the server, or remove it from the cluster (${formatError(error)})`),
      );
    }
  }
  if (!nodes.some(({ takesRecords }) => takesRecords))
    checks.push({
      node: 'all nodes',
      check: 'a node takes records',
      state: 'missing',
      toDo: 'add workers with --workers <host:port>,<host:port>',
    });
  return checks;
}

/** Creates the extension if missing. Rejects with RefusedCommand without a superuser or without Citus. */
async function prepareCoordinator(coordinator: Knex): Promise<{ database: string; login: string }> {
  const { rows } = await coordinator.raw<{
    rows: { database: string; login: string; superuser: boolean; facts: string }[];
  }>(
    `select current_database() as database, session_user as login, current_setting('is_superuser') = 'on' as superuser, (${readNodeFacts([])}) as facts`,
  );
  const [row] = rows;
  if (row?.superuser !== true)
    throw new RefusedCommand(
      `prepare-citus needs a superuser of the coordinator, and ${row?.login ?? 'the login'} is none. Set MIGRATION_DATABASE_URL to one for this command.`,
    );
  const facts = parseFacts(row.facts);
  if (!isCitusLoaded(facts))
    throw new RefusedCommand(
      "Citus isn't loaded on this server. Install it on every node, put it first in shared_preload_libraries, and restart them: docs/citus.md.",
    );
  if (facts.extensions['citus']?.installed === null) await coordinator.raw('create extension citus');
  return { database: row.database, login: row.login };
}

type Input = { readonly coordinator?: Address | undefined; readonly workers: readonly Address[] };

async function prepare(
  { owner, service, progress }: ServerAddresses,
  { coordinator: self, workers }: Input,
): Promise<Check[]> {
  const explained = (error: unknown): never => {
    throw explainDatabaseError(error, service === undefined ? 'DATABASE_URL' : 'MIGRATION_DATABASE_URL');
  };
  const server = await findServer(owner).catch(explained);
  const database = await ensureDatabase(owner, server).catch(explained);
  const login =
    service === undefined || toServiceLogin(service).user === toServiceLogin(owner).user
      ? undefined
      : toServiceLogin(service);
  return withConnection(urlAt(owner, server), async (coordinator) => {
    const current = await prepareCoordinator(coordinator);
    progress(`preparing the database ${current.database}`);
    const registered = await registerNodes(coordinator, owner, self ?? server, workers);
    const nodes = await listClusterNodes(coordinator);
    const checked = await checkNodes(coordinator, nodes, current.database, login);
    const logins = await checkNodeLogins(coordinator, nodes, current.login);
    return [
      { node: formatAddress(server), check: `database ${current.database}`, state: database },
      ...registered,
      ...checked,
      ...logins,
    ];
  });
}

export const prepareCitusCommand = defineServerCommand({
  name: 'prepare-citus',
  summary:
    'Prepares a Citus cluster for the service, and checks it. Run it before the first start and after adding a node.',
  about: `Connects to the coordinator as the login of MIGRATION_DATABASE_URL (DATABASE_URL if that is unset), which must be a superuser there and on
every node. It creates the database and the extensions where they are missing, registers the nodes, creates the roles and the service's login on
every node with their rights, and lets the nodes log in to each other as these roles. Settings that need a restart are only checked. Every check is
ok, changed, or missing, which says what is left to do. Running it again changes nothing. docs/citus.md has every step.`,
  input: z.strictObject({
    coordinator: option(
      OneAddress.optional(),
      'host:port',
      'how the workers reach the coordinator; default: the address this command uses',
    ),
    workers: option(
      Addresses.optional(),
      'host:port,…',
      'the workers to add; those that the cluster knows are checked in any case',
    ),
  }),
  async run(servers, { coordinator, workers = [] }) {
    const checks = await prepare(servers, { coordinator, workers });
    const missing = checks.filter(({ state }) => state === 'missing').length;
    const rows = checks.map(({ node, check, state, toDo }) => ({
      node,
      check,
      state: toDo === undefined ? state : `${state}: ${toDo}`,
    }));
    const summary =
      missing === 0
        ? 'The cluster is ready for the service.'
        : `${missing} ${missing === 1 ? 'check is' : 'checks are'} missing. Run the command again afterwards.`;
    return {
      json: { ready: missing === 0, checks },
      text: `${textTable(rows)}\n\n${summary}`,
      incomplete: missing > 0,
    };
  },
});
