// Lists the nodes of the warehouse with what each holds, and the node of every organization.
import { z } from 'zod';
import { isUnreachable } from '../../db/pg-errors.ts';
import { isNodeUnreachable } from '../../warehouse/tables-pending.ts';
import { measureTenantStorage } from '../../warehouse/tenant-schema.ts';
import { type Admin, defineCommand } from '../command.ts';
import { formatBytes, textTable } from '../text-table.ts';
import {
  listPlacements,
  listWarehouseNodes,
  nodeResponds,
  type Placement,
  type WarehouseNode,
} from './placement.ts';

type Size = { readonly records: number | null; readonly bytes: number | null };
type Measured = Placement & Size;
type RespondingNode = WarehouseNode & { readonly responds: boolean };
type ListedNode = Omit<RespondingNode, 'host' | 'port'> & Size & { readonly organizations: number };

const unknownSize: Size = { records: null, bytes: null };

async function listResponding({ owner }: Admin): Promise<RespondingNode[]> {
  const nodes: RespondingNode[] = [];
  for (const node of await listWarehouseNodes(owner))
    nodes.push({ ...node, responds: await nodeResponds(owner, node) });
  return nodes;
}

/** Unknown for an organization without tables on this cluster, and when its server doesn't respond. */
async function measure(
  { ctx }: Admin,
  placement: Placement,
  nodes: readonly RespondingNode[],
): Promise<Measured> {
  const isThere =
    placement.warehouse === 'current' && nodes.some(({ id, responds }) => responds && id === placement.node);
  if (!isThere) return { ...placement, ...unknownSize };
  const size = await measureTenantStorage({ ...ctx, organizationId: placement.id }).catch(
    (error: unknown) => {
      if (!isUnreachable(error) && !isNodeUnreachable(error)) throw error;
      return unknownSize;
    },
  );
  return { ...placement, ...size };
}

/** Unknown when one of them is. */
const sum = (values: readonly (number | null)[]): number | null =>
  values.reduce((total, value) => (total === null || value === null ? null : total + value), 0);

function withContents(
  { host: _host, port: _port, ...node }: RespondingNode,
  measured: readonly Measured[],
): ListedNode {
  const held = measured.filter((organization) => organization.node === node.id);
  const [records, bytes] = [sum(held.map((one) => one.records)), sum(held.map((one) => one.bytes))];
  return { ...node, organizations: held.length, records, bytes };
}

const sizeText = (bytes: number | null): string | null => (bytes === null ? null : formatBytes(bytes));

const describeServer = (address: string | null): string => address ?? 'this server';

/** The address of the node as text; null while the organization has no tables. */
function describePlace({ node, warehouse }: Placement, nodes: readonly ListedNode[]): string | null {
  if (warehouse !== 'current') return warehouse === 'former' ? 'former server' : 'former server, being moved';
  const found = nodes.find(({ id }) => id === node);
  return found === undefined ? null : describeServer(found.address);
}

export const listPlacementCommand = defineCommand({
  name: 'list-placement',
  summary: 'Lists the nodes of the warehouse and the organizations on each.',
  about: `Records and size are measured now, one organization after the other. Records are - on a node that doesn't respond, and every size
is - while a node doesn't respond. An organization without a node has no tables yet. One on the former server is moved by
\`move-to-citus\`. Exit code 3: a node doesn't respond. On one server without Citus there is one node.`,
  input: z.strictObject({}),
  async run(admin) {
    const responding = await listResponding(admin);
    const measured: Measured[] = [];
    for (const placement of await listPlacements(admin.owner))
      measured.push(await measure(admin, placement, responding));
    const nodes = responding.map((node) => withContents(node, measured));
    const organizations = measured.map((organization) => ({
      ...organization,
      node: describePlace(organization, nodes),
    }));
    const nodeRows = nodes.map(
      ({ address, responds, takesRecords, organizations: held, records, bytes }) => ({
        node: describeServer(address),
        state: responds ? 'responds' : "doesn't respond",
        'takes records': takesRecords ? 'yes' : 'no',
        organizations: held,
        records,
        size: sizeText(bytes),
      }),
    );
    const rows = organizations.map(({ slug, node, records, bytes }) => ({
      organization: slug,
      node,
      records,
      size: sizeText(bytes),
    }));
    return {
      json: { nodes: nodes.map(({ id: _id, ...node }) => node), organizations },
      text: `${textTable(nodeRows)}\n\n${rows.length === 0 ? 'There are no organizations.' : textTable(rows)}`,
      incomplete: nodes.some(({ responds }) => !responds),
    };
  },
});
