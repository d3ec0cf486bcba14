// Moves the records of one organization to another node, while it is read and synced.
import { z } from 'zod';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { type Admin, argument, defineCommand, option, RefusedCommand } from '../command.ts';
import { auditOperatorIn, getNamedOrganization } from '../operator.ts';
import { formatError } from './checks.ts';
import { formatAddress, OneAddress } from './cluster.ts';
import { assertNodesRespond, getClusterNodes, listPlacements } from './placement.ts';

export const moveOrganizationCommand = defineCommand({
  name: 'move-organization',
  summary: 'Moves the records of an organization to another node of a Citus cluster.',
  about: `Reads and syncs of the organization go on: its tables are copied by logical replication, and writes wait only at its end. Its
indexes and new tables wait until the move is done. A move that fails leaves the organization where it was; run it again. Both nodes must
respond. When the command is interrupted, the move may still be completed: \`list-placement\` shows where the organization is.`,
  input: z.strictObject({
    organization: argument(z.string().min(1), 'slug or id', 'the organization'),
    to: option(OneAddress.transform(formatAddress), 'host:port', 'the node, as `list-placement` shows it'),
  }),
  async run(admin, { organization: slugOrId, to }) {
    const organization = await getNamedOrganization(admin, slugOrId);
    const { nodes, target, placement } = await findMove(admin, organization, to);
    const from = nodes.find(({ id }) => id === placement.node)?.address ?? String(placement.node);
    if (from === to)
      return {
        json: { id: organization.id, from, to, seconds: 0 },
        text: `${organization.slug} is on ${to} already.`,
      };
    await assertNodesRespond(
      admin.owner,
      nodes.filter(({ id, address }) => id === placement.node || address === to),
    );
    admin.progress(`moving ${organization.slug} from ${from} to ${to}`);
    const startedMs = admin.ctx.clock.monotonicMs();
    await admin.ctx.db.control
      .raw('select citus_schema_move(?::regnamespace, ?::integer)', [
        tenantSchema(organization.id),
        target.id,
      ])
      .catch((error: unknown) => {
        throw new RefusedCommand(`${organization.slug} is still on ${from}: ${formatError(error)}`, {
          cause: error,
        });
      });
    const seconds = Math.round((admin.ctx.clock.monotonicMs() - startedMs) / 100) / 10;
    await auditOperatorIn(admin, organization.id, 'warehouse.move', ['organization', organization.id], {
      from,
      to,
    });
    return {
      json: { id: organization.id, from, to, seconds },
      text: `${organization.slug} is on ${to} now. It took ${seconds} s.`,
    };
  },
});

/** Throws RefusedCommand where the organization can't be moved to this node. */
async function findMove(admin: Admin, organization: { id: string; slug: string }, to: string) {
  const nodes = await getClusterNodes(admin);
  const target = nodes.find(({ address }) => address === to);
  const others = nodes.filter(({ takesRecords }) => takesRecords).map(({ address }) => address);
  if (target === undefined)
    throw new RefusedCommand(
      `${to} is not a node of this cluster. Nodes that take records: ${others.join(', ')}`,
    );
  if (!target.takesRecords)
    throw new RefusedCommand(`${to} takes no records. Nodes that do: ${others.join(', ')}`);
  const placement = (await listPlacements(admin.owner)).find(({ id }) => id === organization.id);
  if (placement !== undefined && placement.warehouse !== 'current')
    throw new RefusedCommand(
      `${organization.slug} is on the former server: \`move-to-citus\` brings it to the cluster first.`,
    );
  if (placement === undefined || placement.node === null)
    throw new RefusedCommand(
      `${organization.slug} has no tables yet: Citus chooses the node when they are created.`,
    );
  return { nodes, target, placement };
}
