// What two processes behind one port (PROCESSES=2) cost and gain: the list and the single record of the read
// benchmark, without the page cache, to them, to two processes of their own with the same shares, and to one process,
// in turns. Writes its table to bench/RESULTS.md. Usage: npm run bench -- processes [records, default 1000000]
// [rounds, default 5] [seconds per measurement, default 2]
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../src/config.ts';
import { divideConfig } from '../src/processes/divide.ts';
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
const warmUpMs = 10_000;

type Server = RunningServer & { readonly pids: readonly number[]; readonly log: string };
type Sides = Readonly<Record<'one' | 'separate' | 'two', readonly Server[]>>;
type Measured = Omit<LoadResult, 'p50Ms'>;
/** `leastShare`: of the requests to the two processes behind one port, that of the one with fewer. */
type Compared = Readonly<Record<keyof Sides, Measured>> & { readonly leastShare: number };
type Round = Readonly<Record<Kind, Compared>>;

async function startServer(
  folder: string,
  name: string,
  processes: number,
  given: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const log = path.join(folder, `${name}.log`);
  const file = await open(log, 'w');
  const environment = { BODY_CACHE_MB: '0', PROCESSES: String(processes), ...given };
  const service = await startService(folder, { environment, log: file.fd });
  await file.close();
  let children: readonly number[] = [];
  while (processes > 1 && children.length < processes) {
    await sleep(50);
    children = listBackends(service.pid);
  }
  return { ...service, log, pids: [service.pid, ...children] };
}

/** As PROCESSES=2 divides them. */
function shareOfTwo(): Record<string, string> {
  const { CONTROL_POOL_SIZE, DATA_POOL_SIZE, LOOKUP_POOL_SIZE, EXPORT_POOL } = divideConfig(
    readConfig({}),
    2,
  );
  const sizes = { CONTROL_POOL_SIZE, DATA_POOL_SIZE, LOOKUP_POOL_SIZE, EXPORT_POOL };
  return Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, String(size)]));
}

/** Resolves as `work` does, with the servers of all sides, which are stopped then. */
async function withSides<T>(folder: string, work: (sides: Sides) => Promise<T>): Promise<T> {
  const started: Server[] = [];
  const start = async (...given: Parameters<typeof startServer>): Promise<Server> => {
    const server = await startServer(...given);
    started.push(server);
    return server;
  };
  const share = shareOfTwo();
  try {
    return await work({
      one: [await start(folder, 'one', 1)],
      separate: [await start(folder, 'first', 1, share), await start(folder, 'second', 1, share)],
      two: [await start(folder, 'two', 2)],
    });
  } finally {
    await Promise.all(started.map((server) => server.stop()));
  }
}

/** Of the requests that were logged from this byte on, the share of the process with the fewest. */
async function readLeastShare(log: string, from: number): Promise<number> {
  const counts = new Map<string, number>();
  for await (const line of createInterface(createReadStream(log, { start: from }))) {
    const [, number = ''] = /"process":(\d+),.*"msg":"request"/.exec(line) ?? [];
    if (number !== '') counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  const all = [...counts.values()];
  return all.length < 2 ? 0 : Math.min(...all) / all.reduce((sum, count) => sum + count, 0);
}

/** All servers of a side at once. */
async function measure(servers: readonly Server[], bench: Bench, kind: Kind): Promise<Measured> {
  const paths = kind === 'list' ? listPaths : randomIds(bench.invoices);
  const headers = buildHeaders(bench.invoices);
  const results = await Promise.all(
    servers.map(({ url, pids }) =>
      measureLoad(pids, { url, headers, paths }, connectionsEach * Math.max(1, pids.length - 1), bench.ms),
    ),
  );
  const perSecond = results.reduce((sum, result) => sum + result.perSecond, 0);
  return {
    perSecond,
    cpuUs: results.reduce((sum, result) => sum + result.cpuUs * result.perSecond, 0) / perSecond,
    p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)),
  };
}

async function compare({ one, separate, two }: Sides, bench: Bench, kind: Kind): Promise<Compared> {
  const log = two[0]?.log ?? '';
  const from = (await stat(log)).size;
  const ofTwo = await measure(two, bench, kind);
  const leastShare = await readLeastShare(log, from);
  const ofSeparate = await measure(separate, bench, kind);
  return { two: ofTwo, separate: ofSeparate, one: await measure(one, bench, kind), leastShare };
}

async function measureRounds(sides: Sides, bench: Bench): Promise<Round[]> {
  for (const kind of kinds)
    for (const servers of Object.values(sides)) await measure(servers, { ...bench, ms: warmUpMs }, kind);
  const rounds: Round[] = [];
  for (let round = 1; round <= bench.rounds; round += 1) {
    rounds.push({
      list: await compare(sides, bench, 'list'),
      single: await compare(sides, bench, 'single'),
    });
    console.log(`round ${round}/${bench.rounds}`);
  }
  return rounds;
}

function linesOf(rounds: readonly Round[], kind: Kind): Line[] {
  const of = (value: (round: Compared) => number) => rounds.map((round) => value(round[kind]));
  const ratio = (figure: keyof Measured, to: 'one' | 'separate') =>
    of((round) => round.two[figure] / round[to][figure]);
  return [
    toLine(
      `${kind}, CPU time per request, with the parent's / two processes of their own`,
      ratio('cpuUs', 'separate'),
      '',
      2,
      { target: 1.05, floor: 1.1, lowerIsBetter: true },
    ),
    toLine(`${kind}, CPU time per request / one process`, ratio('cpuUs', 'one'), '', 2),
    toLine(
      `${kind}, requests of the process with fewer`,
      of(({ leastShare }) => leastShare * 100),
      ' %',
      0,
      { target: 45, floor: 40 },
    ),
    toLine(`${kind}, requests/s / two processes of their own`, ratio('perSecond', 'separate'), '', 2),
    toLine(`${kind}, requests/s / one process`, ratio('perSecond', 'one'), '', 2),
    toLine(`${kind}, p99 / two processes of their own`, ratio('p99Ms', 'separate'), '', 2),
  ];
}

const main = (folder: string, records: number, rounds: number, ms: number): Promise<boolean> =>
  withDatabase(folder, {}, async ({ ctx, admin, address }) => {
    const invoices = await loadInvoices(ctx, admin, records);
    const publishing = await startService(folder);
    await publishInvoices(publishing.url, invoices, admin).finally(() => publishing.stop());
    const bench: Bench = { folder, admin, address, invoices, rounds, ms };
    const measured = await withSides(folder, (sides) => measureRounds(sides, bench));
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
