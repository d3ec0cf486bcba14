// The agent that answers visitors. It reads what the portal shows them, by its own version: each of its resources with
// records that the portal shows must declare what narrows them as scopable; its other resources are unreadable.

import type { TenantCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type AgentVersion, findAgentVersion } from '../agents/agents.store.ts';
import type { PortalSettings, StoredSettings } from './access.schemas.ts';
import {
  accessTo,
  findPerson,
  findPortal,
  listFamily,
  type PortalCtx,
  toRowConditions,
} from './visitor-scope.ts';
import { isSessionValid } from './visits.store.ts';

type Detail = { readonly path: string; readonly code: string; readonly message: string };
type Endpoint = AgentVersion['endpoints'][number];

const problem = (code: string, message: string): Detail => ({ path: 'agentId', code, message });
const unknownAgent = problem('unknown_agent', 'There is no such agent');

/** `number`: the field of the version that has the number of a record. */
type AgentResource = {
  readonly name: string;
  readonly number: string | undefined;
  readonly entry: PortalSettings['records'][number];
};
export type VisitorAgent = {
  readonly id: string;
  readonly version: string;
  readonly resources: readonly AgentResource[];
};

const isReady = ({ status, versionStatus }: AgentVersion): boolean =>
  status === 'running' && (versionStatus === 'published' || versionStatus === 'deprecated');

function listUnscopable(
  { customerField, conditions }: PortalSettings['records'][number],
  { name, fields }: Endpoint,
  version: string,
): Detail[] {
  const scopable = new Set(fields.filter((field) => field.scopable === true).map(({ source }) => source));
  return [...new Set([customerField, ...conditions.map(({ field }) => field)])]
    .filter((source) => source !== 'id' && !scopable.has(source))
    .map((source) =>
      problem('not_scopable', `"${name}" of ${version} has no scopable field with the source "${source}"`),
    );
}

const listShown = ({ records }: Pick<PortalSettings, 'records'>, endpoints: readonly Endpoint[]) =>
  endpoints.flatMap((endpoint) => {
    const entry = records.find(({ recordType }) => recordType === endpoint.recordType);
    return entry === undefined ? [] : [{ entry, endpoint }];
  });

function listProblemsOf({ records }: Pick<PortalSettings, 'records'>, agent: AgentVersion | undefined) {
  if (agent === undefined) return [unknownAgent];
  const { status, version, endpoints } = agent;
  if (!isReady(agent))
    return [problem('agent_not_ready', `The agent is ${status}, and must be running on a version in use`)];
  const shown = listShown({ records }, endpoints);
  if (shown.length === 0)
    return [problem('nothing_shown', `${version} has no resource with records that the portal shows`)];
  return shown.flatMap(({ entry, endpoint }) => listUnscopable(entry, endpoint, version));
}

const findOf = (ctx: TenantCtx, id: string): Promise<AgentVersion | undefined> =>
  inTransaction(ctx, (tx) => findAgentVersion(tx, ctx.organizationId, id));

/** Why the agent of these settings can't answer visitors; empty when it can, and without one. */
export const listAgentProblems = async (
  ctx: TenantCtx,
  { agentId = null, records }: StoredSettings,
): Promise<Detail[]> => (agentId === null ? [] : listProblemsOf({ records }, await findOf(ctx, agentId)));

/** Throws 422 `unknown_agent` for an agent that was neither saved before nor is there. */
export async function assertAgentKnown(
  tx: Tx,
  { organizationId }: TenantCtx,
  { agentId }: PortalSettings,
  saved: StoredSettings | undefined,
): Promise<void> {
  if (agentId === null || agentId === saved?.agentId) return;
  if ((await findAgentVersion(tx, organizationId, agentId)) === undefined)
    throw invalid('Unknown agent', [unknownAgent]);
}

/** The agent that answers visitors now; undefined where none does. */
export async function findVisitorAgent(
  ctx: TenantCtx,
  { agentId = null, records }: StoredSettings,
): Promise<VisitorAgent | undefined> {
  const agent = agentId === null ? undefined : await findOf(ctx, agentId);
  if (agent === undefined || listProblemsOf({ records }, agent).length > 0) return undefined;
  const resources = listShown({ records }, agent.endpoints).map(({ entry, endpoint: { name, fields } }) => ({
    ...{ name, entry },
    number: fields.find(({ source }) => source === entry.fields.number)?.name,
  }));
  return { id: agent.id, version: agent.version, resources };
}

/** What the agent reads for a visitor of these customers. */
const accessOfAgent = ({ resources }: VisitorAgent, family: readonly string[]): RecordAccess =>
  accessTo(
    resources.map(({ name, entry: { recordType, customerField, conditions } }) => ({
      ...{ name, recordType },
      conditions: [
        { field: customerField, source: customerField, in: family },
        ...toRowConditions(conditions),
      ],
    })),
    false,
  );

/** Of a visitor who asks: the session, its address, and the customer. */
type AskingVisitor = {
  readonly sessionId: string;
  readonly email: string;
  readonly customer: string;
};

/**
 * What the agent may read for the visitor now, by the settings, the agent, the ERP and the session as they are now.
 * Undefined when that is nothing any more. Rejects with 503 while the ERP doesn't deliver a field on which this depends.
 */
export async function findVisitorAccess(
  ctx: PortalCtx,
  { id, version }: VisitorAgent,
  { sessionId, email, customer }: AskingVisitor,
): Promise<RecordAccess | undefined> {
  const portal = await findPortal(ctx);
  if (portal === undefined) return undefined;
  const [agent, isSignedIn, { customers }] = await Promise.all([
    findVisitorAgent(ctx, portal.settings),
    isSessionValid(ctx, sessionId, email),
    findPerson(ctx, portal, email),
  ]);
  const isSame = agent?.id === id && agent.version === version;
  if (!isSame || !isSignedIn || !customers.includes(customer)) return undefined;
  return accessOfAgent(agent, await listFamily(ctx, portal, customer));
}
