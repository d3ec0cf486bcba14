// The warehouse on Citus beside plain PostgreSQL: what reads and syncs cost, what clients notice of moves, of
// a rebalance and of a killed worker, and what many small organizations cost. Needs the kit that CITUS_KIT
// names. Writes its table to bench/RESULTS.md. Usage: npm run bench -- citus [organizations, default 20]
// [records each, default 100000] [rounds, default 5] [seconds, default 2] [many, default 500]
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { noLocalCluster } from '../test/scale/citus/harness/cluster.ts';
import { compareSides, openContexts } from './citus-compare.ts';
import { measureMany, measureManyOnCitus } from './citus-many.ts';
import { measureMovesAndOutage } from './citus-moves.ts';
import { compareLines, createManyLines, moveLines } from './citus-report.ts';
import { type Side, startCitus, startPlain } from './citus-sides.ts';
import { describeMachine, type Line, toLine, writeTable } from './table.ts';
import { withWorkspace } from './workspace.ts';

type Options = {
  readonly organizations: number;
  readonly records: number;
  readonly rounds: number;
  readonly ms: number;
  readonly many: number;
};

function parseOptions(given: readonly string[]): Options {
  const [organizations = '20', records = '100000', rounds = '5', seconds = '2', many = '500'] = given;
  const numbers = [organizations, records, rounds, seconds, many].map(Number);
  const areValid = numbers.every((each) => Number.isInteger(each) && each > 0);
  // Moves and a rebalance need several organizations on each worker.
  if (!areValid || Number(organizations) < 8 || Number(records) < 1_000 || Number(records) % 100 !== 0) {
    console.error(
      'Usage: npm run bench -- citus [organizations, at least 8] [records each, hundreds] [rounds] [seconds] [many organizations]',
    );
    process.exit(2);
  }
  return {
    organizations: Number(organizations),
    records: Number(records),
    rounds: Number(rounds),
    ms: Number(seconds) * 1_000,
    many: Number(many),
  };
}

/** What the data of all servers of a side takes on the disk, in MB. */
async function diskMegabytes({ servers }: Side): Promise<number> {
  const folders = await Promise.all(
    servers.map(
      async (server) =>
        (await server.query<{ folder: string }>("select current_setting('data_directory') as folder"))[0]
          ?.folder,
    ),
  );
  const sizes = folders.map((folder) =>
    Number(execFileSync('du', ['-sm', folder ?? ''], { encoding: 'utf8' }).split('\t')[0]),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function measureFew(folder: string, options: Options): Promise<{ lines: Line[]; machine: string }> {
  const [plain, citus] = [await startPlain(), await startCitus()];
  const data = path.join(folder, 'few');
  const { contexts, close } = await openContexts(data, plain, citus);
  try {
    const { compared, loaded } = await compareSides({ ...options, folder: data }, contexts, plain, citus);
    const disk = [await diskMegabytes(plain), await diskMegabytes(citus)] as const;
    const moved = await measureMovesAndOutage(data, contexts.coordinator, citus, loaded.citus);
    for (const problem of moved.wrong.slice(0, 20)) console.log(problem);
    const lines = [
      ...compareLines(compared),
      toLine('disk space of plain PostgreSQL', disk[0], ' MB', 0),
      toLine('disk space of all nodes', disk[1], ' MB', 0),
      ...moveLines(moved),
    ];
    return { lines, machine: await describeMachine(plain.admin) };
  } finally {
    await close();
    await citus.stop();
    await plain.stop();
  }
}

async function measureManyOnBoth(folder: string, many: number): Promise<Line[]> {
  const plain = await startPlain();
  const onPlain = await measureMany(path.join(folder, 'many'), plain, many).finally(plain.stop);
  const citus = await startCitus();
  const onCitus = await measureManyOnCitus(path.join(folder, 'many'), citus, many).finally(citus.stop);
  return createManyLines(many, onPlain, onCitus);
}

async function main(folder: string, options: Options): Promise<boolean> {
  const few = await measureFew(folder, options);
  const many = await measureManyOnBoth(folder, options.many);
  const { organizations, records, rounds } = options;
  const heading = `Run of ${new Date().toISOString().slice(0, 10)}: ${organizations} organizations of ${records} records of 40 columns with 3 lines each, ${rounds} rounds; ${options.many} organizations of 100 records.`;
  return writeTable('citus', `${heading}\n${few.machine}`, [...few.lines, ...many]);
}

if (noLocalCluster === undefined) {
  const options = parseOptions(process.argv.slice(2));
  await withWorkspace((folder) => main(folder, options));
} else console.log(`not run: ${noLocalCluster}`);
