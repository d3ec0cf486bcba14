// What reads cost on Citus: the same lists, records and exports of all organizations, from PostgreSQL,
// through the coordinator and through a worker node, in turn.
import type { Invoices } from './reads-data.ts';
import { exportRows } from './reads-export.ts';
import { type LoadResult, measureLoad, type RequestSet } from './reads-load.ts';
import { buildHeaders, listPaths } from './reads-measure.ts';
import type { RunningServer } from './reads-servers.ts';
import { serverCpuSeconds } from './server-cpu.ts';

/** A service, the organizations of its database, and the postmasters of its servers. */
export type ReadSide = {
  readonly name: string;
  readonly service: RunningServer;
  readonly organizations: readonly Invoices[];
  postmasters(): Promise<readonly number[]>;
};
/** `databaseUs`: CPU time of all database servers per request. */
export type SideLoad = LoadResult & { readonly databaseUs: number };
export type SideRound = Readonly<Record<Kind, { readonly alone: SideLoad; readonly together: SideLoad }>> & {
  readonly exportPerSecond: number;
};
export const kinds = ['list', 'record'] as const;
export type Kind = (typeof kinds)[number];

const pathsEach = 200;
const connections = 16;
const warmUpMs = 3_000;

const recordPaths = ({ records }: Invoices): string[] =>
  Array.from({ length: pathsEach }, () => `/api/public/v1/full/${1 + Math.floor(Math.random() * records)}`);

/** Lists of the first pages only, so that neither counts nor deep pages are compared. */
const createRequests = ({ service, organizations }: ReadSide, kind: Kind): RequestSet[] =>
  organizations.map((organization) => ({
    url: service.url,
    headers: buildHeaders(organization),
    paths: kind === 'list' ? listPaths.slice(0, pathsEach) : recordPaths(organization),
  }));

async function measure(side: ReadSide, kind: Kind, at: number, ms: number): Promise<SideLoad> {
  const postmasters = await side.postmasters();
  const cpuSeconds = (): number =>
    postmasters.map(serverCpuSeconds).reduce((sum, seconds) => sum + seconds, 0);
  const [before, startMs] = [cpuSeconds(), performance.now()];
  const load = await measureLoad(side.service.pid, createRequests(side, kind), at, ms);
  const requests = (load.perSecond * (performance.now() - startMs)) / 1_000;
  return { ...load, databaseUs: ((cpuSeconds() - before) * 1e6) / requests };
}

async function measureRound(side: ReadSide, round: number, ms: number): Promise<SideRound> {
  const of = async (kind: Kind) => ({
    alone: await measure(side, kind, 1, ms),
    together: await measure(side, kind, connections, ms),
  });
  const [list, record] = [await of('list'), await of('record')];
  const invoices = side.organizations[round % side.organizations.length];
  if (invoices === undefined) throw new Error('There is no organization');
  return {
    list,
    record,
    exportPerSecond: await exportRows(side.service.url, { invoices }, 'application/x-ndjson'),
  };
}

/** Rounds of all sides; the order changes from round to round. */
export async function measureReads(
  sides: readonly ReadSide[],
  rounds: number,
  ms: number,
): Promise<SideRound[][]> {
  for (const side of sides) for (const kind of kinds) await measure(side, kind, connections, warmUpMs);
  const measured: SideRound[][] = sides.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? [...sides.keys()] : [...sides.keys()].reverse();
    for (const index of order) {
      const side = sides[index];
      if (side !== undefined) measured[index]?.push(await measureRound(side, round, ms));
    }
    console.log(`reads: round ${round + 1} of ${rounds}`);
  }
  return measured;
}
