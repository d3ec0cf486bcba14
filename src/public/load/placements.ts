// Which node of a cluster has the records of an organization, for limits per node. The placements are cached
// and refreshed in the background; an organization that isn't known yet has no such limit. On plain
// PostgreSQL they are read once.
import type { Ctx } from '../../core/ctx.ts';

export type NodeOf = (organizationId: string) => string | undefined;

/** After a move, an organization may count for its former node for this long. */
const maxAgeMs = 30_000;
/** When the organization isn't known. */
const maxAgeForUnknownMs = 1_000;

/** The server at WAREHOUSE_FROM_URL; no node has such an id. */
const formerServer = 'former';

type Placement = { isCluster: boolean; id: string | null; node: string };
const placementsSql = `select c.is_cluster as "isCluster", p.organization_id as id, p.node::text
  from (select exists (select from warehouse_nodes() where host is not null) as is_cluster) c
  left join lateral (select * from warehouse_placements() where c.is_cluster) p on true`;

/** The returned function never waits and never throws. */
export function createNodeFinder({ db, clock }: Pick<Ctx, 'db' | 'clock'>): NodeOf {
  let nodes: ReadonlyMap<string, string> = new Map();
  let readAtMs = -Infinity;
  let isPlain = false;
  const refresh = async (): Promise<void> => {
    const { rows } = await db.lookups.raw<{ rows: Placement[] }>(placementsSql);
    isPlain = rows[0]?.isCluster === false;
    nodes = new Map(rows.flatMap(({ id, node }) => (id === null ? [] : [[id, node]])));
  };
  return (organizationId) => {
    if (db.former?.holds(organizationId) === true) return formerServer;
    if (isPlain) return undefined;
    const nowMs = clock.monotonicMs();
    const node = nodes.get(organizationId);
    if (nowMs - readAtMs >= (node === undefined ? maxAgeForUnknownMs : maxAgeMs)) {
      readAtMs = nowMs;
      // After a failure, the placements known so far stay in use.
      refresh().catch(() => undefined);
    }
    return node;
  };
}
