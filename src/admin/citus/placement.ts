// The nodes of the warehouse, and which of them has the records of each organization.
import type { Knex } from 'knex';
import { type Admin, RefusedCommand } from '../command.ts';
import { formatAddress } from './cluster.ts';

/** Without Citus there is one node, whose `host`, `port` and `address` are null. */
export type WarehouseNode = {
  readonly id: number;
  readonly host: string | null;
  readonly port: number | null;
  readonly address: string | null;
  readonly takesRecords: boolean;
  readonly isActive: boolean;
};
export type Placement = {
  readonly id: string;
  readonly slug: string;
  /** The node's id; null before the organization has a schema there. */
  readonly node: number | null;
  /** `former` and `moving`: on the server of WAREHOUSE_FROM_URL. */
  readonly warehouse: 'current' | 'former' | 'moving';
};

export async function listWarehouseNodes(owner: Knex): Promise<WarehouseNode[]> {
  type Row = {
    id: number;
    host: string | null;
    port: number | null;
    takes_records: boolean;
    is_active: boolean;
  };
  const { rows } = await owner.raw<{ rows: Row[] }>('select * from warehouse_nodes()');
  return rows.map(({ id, host, port, takes_records: takesRecords, is_active: isActive }) => ({
    id,
    host,
    port,
    address: host === null || port === null ? null : formatAddress({ host, port }),
    takesRecords,
    isActive,
  }));
}

/** Asked by the server of `owner`; `node` is one of its cluster, or this server without Citus. */
export async function nodeResponds(owner: Knex, { host, port }: Pick<WarehouseNode, 'host' | 'port'>) {
  const { rows } = await owner.raw<{ rows: { responds: boolean }[] }>(
    'select warehouse_node_responds(?, ?::integer) as responds',
    [host, port],
  );
  return rows[0]?.responds === true;
}

/** Rejects with RefusedCommand if one of these nodes doesn't respond: Citus would fail in its own words. */
export async function assertNodesRespond(owner: Knex, nodes: readonly WarehouseNode[]): Promise<void> {
  for (const node of nodes)
    if (!(await nodeResponds(owner, node)))
      throw new RefusedCommand(
        `${node.address} doesn't respond: nothing was moved. Start that server first.`,
      );
}

export async function listPlacements(owner: Knex): Promise<Placement[]> {
  const { rows } = await owner.raw<{ rows: Placement[] }>(
    `select o.id, o.slug, p.node, o.warehouse from organizations o left join warehouse_placements() p on p.organization_id = o.id
     order by o.created_at, o.id`,
  );
  return rows;
}

/** The nodes of the cluster. Rejects with RefusedCommand on a server without Citus. */
export async function getClusterNodes({
  owner,
}: Pick<Admin, 'owner'>): Promise<(WarehouseNode & { readonly address: string })[]> {
  const nodes = (await listWarehouseNodes(owner)).flatMap((node) =>
    node.address === null ? [] : [{ ...node, address: node.address }],
  );
  if (nodes.length === 0)
    throw new RefusedCommand(
      'This database is on one server, without Citus: there is nowhere to move organizations.',
    );
  return nodes;
}

/** The organizations that are on another node than before. */
export function comparePlacements(
  before: readonly Placement[],
  after: readonly Placement[],
): { readonly now: Placement; readonly from: number }[] {
  const nodes = new Map(before.map(({ id, node }) => [id, node]));
  return after.flatMap((now) => {
    const from = nodes.get(now.id);
    return from === undefined || from === null || now.node === null || from === now.node
      ? []
      : [{ now, from }];
  });
}
