// What several processes behind one port (PROCESSES=2) cost and gain, as ratios to one process: the list and the
// single record of the read benchmark, without the page cache, to both in turns. Writes its table to
// bench/RESULTS.md. Usage: npm run bench -- processes [records, default 1000000] [rounds, default 5] [seconds per
// measurement, default 2]
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadInvoices, publishInvoices } from './reads-data.ts';
import { type LoadResult, measureLoad } from './reads-load.ts';
import { type Bench, buildHeaders, listPaths, randomIds } from './reads-measure.ts';
import { parseArguments, type RunningServer, startService } from './reads-servers.ts';
import { listBackends } from './server-cpu.ts';
import { describeMachine, type Line, toLine, writeTable } from './table.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

const kinds = ['list', 'single'] as const;
type Kind = (typeof kinds)[number];
/** For each process: with fewer, a turn of its event loop does less, and each request costs more. */
const connectionsEach = 16;
/** Long enough for V8 to compile the hot code of each process: some twenty thousand requests. */
const warmUpMs = 9_000;

type Server = RunningServer & {
  readonly processes: number;
  readonly pids: readonly number[];
  readonly log: string;
};
/** `leastShare`: of the requests, that of the process with the fewest. */
type Measured = LoadResult & { readonly leastShare: number };
type Round = Readonly<Record<Kind, { readonly one: Measured; readonly two: Measured }>>;

async function startServer(folder: string, processes: number): Promise<Server> {
  const log = path.join(folder, `log-${processes}`);
  const file = await open(log, 'w');
  const environment = { BODY_CACHE_MB: '0', PROCESSES: String(processes) };
  const service = await startService(folder, { environment, log: file.fd });
  await file.close();
  for (;;) {
    const children = processes === 1 ? [] : listBackends(service.pid);
    if (processes === 1 || children.length === processes)
      return { ...service, processes, log, pids: [service.pid, ...children] };
    await sleep(50);
  }
}

/** Requests that each process logged from this byte on. */
async function readShares(log: string, from: number): Promise<number[]> {
  const counts = new Map<string, number>();
  for await (const line of createInterface(createReadStream(log, { start: from }))) {
    const [, number = '1'] = /"process":(\d+),/.exec(line) ?? [];
    if (line.includes('"msg":"request"')) counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  return [...counts.values()];
}

async function measure({ url, pids, log, processes }: Server, bench: Bench, kind: Kind): Promise<Measured> {
  const paths = kind === 'list' ? listPaths : randomIds(bench.invoices);
  const from = (await stat(log)).size;
  const result = await measureLoad(
    pids,
    { url, headers: buildHeaders(bench.invoices), paths },
    connectionsEach * processes,
    bench.ms,
  );
  const shares = await readShares(log, from);
  return { ...result, leastShare: Math.min(...shares) / shares.reduce((sum, count) => sum + count, 0) };
}

async function measureRounds(bench: Bench, one: Server, two: Server): Promise<Round[]> {
  const both = async (kind: Kind, oneFirst: boolean) => {
    const before = oneFirst ? await measure(one, bench, kind) : undefined;
    const ofTwo = await measure(two, bench, kind);
    return { one: before ?? (await measure(one, bench, kind)), two: ofTwo };
  };
  const rounds: Round[] = [];
  for (const kind of kinds)
    for (const server of [one, two]) await measure(server, { ...bench, ms: warmUpMs }, kind);
  for (let round = 1; round <= bench.rounds; round += 1) {
    const oneFirst = round % 2 === 1;
    rounds.push({ list: await both('list', oneFirst), single: await both('single', oneFirst) });
    console.log(`round ${round}/${bench.rounds}`);
  }
  return rounds;
}

const linesOf = (rounds: readonly Round[], kind: Kind): Line[] => {
  const of = (value: (round: Round[Kind]) => number) => rounds.map((round) => value(round[kind]));
  return [
    toLine(
      `${kind}, CPU time of two processes and their parent per request / one process's`,
      of(({ one, two }) => two.cpuUs / one.cpuUs),
      '',
      2,
      { target: 1.05, floor: 1.1, lowerIsBetter: true },
    ),
    toLine(
      `${kind}, requests of the process with fewer`,
      of(({ two }) => two.leastShare * 100),
      ' %',
      0,
      {
        target: 45,
        floor: 40,
      },
    ),
    toLine(
      `${kind}, requests/s of two processes / one`,
      of(({ one, two }) => two.perSecond / one.perSecond),
      '',
      2,
    ),
    toLine(
      `${kind}, CPU time of one process per request`,
      of(({ one }) => one.cpuUs),
      ' µs',
      0,
    ),
    toLine(
      `${kind}, p99 of two processes / one`,
      of(({ one, two }) => two.p99Ms / one.p99Ms),
      '',
      2,
    ),
  ];
};

const main = (folder: string, records: number, rounds: number, ms: number): Promise<boolean> =>
  withDatabase(folder, {}, async ({ ctx, admin, address }) => {
    const invoices = await loadInvoices(ctx, admin, records);
    const publishing = await startService(folder);
    await publishInvoices(publishing.url, invoices, admin).finally(() => publishing.stop());
    const [one, two] = [await startServer(folder, 1), await startServer(folder, 2)];
    const measured = await measureRounds({ folder, admin, address, invoices, rounds, ms }, one, two).finally(
      () => Promise.all([one.stop(), two.stop()]),
    );
    const day = ctx.clock.now().toISOString().slice(0, 10);
    const heading = `Run of ${day}: ${records} invoices of 40 columns with 3 lines each, ${rounds} rounds, ${connectionsEach} connections for each process.`;
    return writeTable(
      'processes',
      `${heading}\n${await describeMachine(admin)}`,
      kinds.flatMap((kind) => linesOf(measured, kind)),
    );
  });

const { records, rounds, ms } = parseArguments('processes', process.argv.slice(2));
await withWorkspace((folder) => main(folder, records, rounds, ms));
