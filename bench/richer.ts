// What summaries, related records, search, filters on lines, `or` and sorts by several keys cost, as ratios
// to plain lists, and whether random summaries equal SQL to the last digit. Writes its table to
// bench/RESULTS.md. Usage: npm run bench -- richer [records, default 1000000] [rounds, default 5] [seconds
// per measurement, default 2]

import { maxPlainLists } from '../src/public/proof/cost.ts';
import { loadInvoices } from './reads-data.ts';
import { buildHeaders } from './reads-measure.ts';
import { parseArguments, startService } from './reads-servers.ts';
import { publishRich } from './richer-data.ts';
import {
  declaredKinds,
  type FirstKind,
  firstKinds,
  type Kind,
  measureRicher,
  type RicherRound,
} from './richer-measure.ts';
import { compareSummaries } from './richer-sums.ts';
import { describeMachine, type Goal, type Line, toLine, writeTable } from './table.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

/** Random summaries that are compared with SQL. */
const comparisons = 200;

const atMost = (target: number, floor: number): Goal => ({ target, floor, lowerIsBetter: true });
const atLeast = (target: number, floor: number): Goal => ({ target, floor });

const kindNames: Readonly<Partial<Record<Kind, string>>> = {
  expand: 'one relation',
  expandLines: 'one relation with lines',
  oneKey: 'sort by one key',
  twoKeys: 'sort by two keys',
  lines: 'an item of a line',
  lineRange: 'a rate that few lines have',
  frequentLine: 'a rate that nearly all records have',
  hundredItems: '100 items of lines',
  hundredAbsent: '100 absent items of lines, one record',
  hundredSorted: '100 absent items of lines, by another sort',
  tenAlternatives: '`or` of ten items of lines',
  tenAbsent: '`or` of ten absent items of lines, one record',
};

/** The time of PostgreSQL for a request of each kind. */
const costLines = (rounds: readonly RicherRound[]): Line[] => [
  toLine(
    'plain list, time of PostgreSQL',
    rounds.map(({ postgresMs }) => postgresMs.plain),
    ' ms',
    2,
  ),
  ...declaredKinds.map((kind) =>
    toLine(
      `${kindNames[kind] ?? kind}, time of PostgreSQL / plain list`,
      rounds.map(({ postgresMs }) => postgresMs[kind] / postgresMs.plain),
      '',
      1,
      atMost(maxPlainLists, maxPlainLists),
    ),
  ),
];

function createLines(rounds: readonly RicherRound[], filled: number): Line[] {
  const ratio = (measure: string, kind: Kind, to: Kind, goal: Goal | null): Line =>
    toLine(
      measure,
      rounds.map(({ perSecond }) => perSecond[to] / perSecond[kind]),
      '',
      2,
      goal,
    );
  const median = (measure: string, kind: Kind): Line =>
    toLine(
      measure,
      rounds.map(({ p50Ms }) => p50Ms[kind]),
      ' ms',
      1,
    );
  const cold = (kind: FirstKind): Line =>
    toLine(
      `${kind}: first of a generation, p50`,
      rounds.map(({ coldMs }) => coldMs[kind]),
      ' ms',
      1,
    );
  return [
    ratio('list of 25 records with one relation, time / plain list', 'expand', 'plain', atMost(1.5, 1.5)),
    ratio('the same, the related records with their three lines', 'expandLines', 'plain', null),
    ratio('list by two sort keys, time / by the first of them', 'twoKeys', 'oneKey', atMost(1.2, 1.5)),
    toLine(
      'kept summary, requests/s / kept list',
      rounds.map(({ keptSummary, keptList }) => keptSummary / keptList),
      '',
      2,
      atLeast(0.9, 0.7),
    ),
    toLine(
      'kept summary, requests/s',
      rounds.map(({ keptSummary }) => keptSummary),
      '',
      0,
    ),
    ...costLines(rounds),
    ...firstKinds.map(cold),
    median('plain list, p50 at 16 connections', 'plain'),
    median('search in three fields, p50 at 16 connections', 'search'),
    median('filter by the item of a line, p50 at 16 connections', 'lines'),
    median('filter by the rate of a line, p50 at 16 connections', 'lineRange'),
    median('or of two conditions, p50 at 16 connections', 'or'),
    toLine(
      `random summaries equal to SQL to the last digit, ${filled} of them with records`,
      comparisons,
      '',
      0,
    ),
  ];
}

const main = (folder: string, records: number, rounds: number, ms: number): Promise<boolean> =>
  withDatabase(folder, {}, async ({ ctx, admin }) => {
    const invoices = await loadInvoices(ctx, admin, records);
    const service = await startService(folder);
    const filled = await (async () => {
      await publishRich(ctx, service.url, invoices, admin);
      return compareSummaries(
        { url: service.url, headers: buildHeaders(invoices) },
        admin,
        invoices,
        comparisons,
      );
    })().finally(() => service.stop());
    const measured = await measureRicher({ folder, admin, invoices, rounds, ms });
    const heading = `Run of ${ctx.clock.now().toISOString().slice(0, 10)}: ${records} invoices of 40 columns with 3 lines each, ${rounds} rounds.`;
    return writeTable('richer', `${heading}\n${await describeMachine(admin)}`, createLines(measured, filled));
  });

const { records, rounds, ms } = parseArguments('richer', process.argv.slice(2));
await withWorkspace((folder) => main(folder, records, rounds, ms));
