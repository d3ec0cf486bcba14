// What a seed covered, and what went wrong: coverage by kind of event, and descriptions of violations.
import { type EditKind, requestFaults, stateFaults } from './plan-names.ts';

export const coverageKinds = [
  ...requestFaults,
  ...stateFaults,
  'approve',
  'clock-step',
  'kill -9',
  'immediate stop',
  'frozen worker',
  'lost commits',
  'refused webhook',
  'kill at a webhook',
  'reader',
] as const;
export type CoverageKind = (typeof coverageKinds)[number];
export const runEnds = ['succeeded', 'partial', 'failed', 'cancelled'] as const;
export type RunEnd = (typeof runEnds)[number];
type Ends = Record<RunEnd, number>;
/**
 * `injected`: it was armed. `hit`: it hit a request, or work in progress. `ends`: how the runs of those
 * rounds ended.
 */
export type Coverage = Record<CoverageKind, { injected: number; hit: number; ends: Ends }>;

/** Which promise was broken. */
export type ViolationKind =
  | 'final'
  | 'green'
  | 'mixed'
  | 'deleted'
  | 'skipped'
  | 'needless'
  | 'stuck'
  | 'unnamed';
export type Violation = { readonly kind: ViolationKind; readonly message: string };

export type Report = {
  readonly seed: number;
  readonly coverage: Coverage;
  readonly edits: Map<EditKind, number>;
  readonly violations: Violation[];
  /** What happened, and how many ms after the start. */
  readonly diary: string[];
  note(line: string): void;
  /** How runs ended, including those of the quiet phase. */
  readonly runs: Ends;
  beginRound(): void;
  /** A run of the current round ended. */
  runEnded(end: RunEnd): void;
  answers: number;
  changes: number;
  webhooks: number;
  greenChecks: number;
  tookMs: number;
};

/** Hits of single requests are counted when the seed has ended. */
const countEvents = ({ injected, hit }: Coverage[CoverageKind]): number => injected + hit;
const noEnds = (): Ends => ({ succeeded: 0, partial: 0, failed: 0, cancelled: 0 });
const noCoverage = (): Coverage =>
  Object.fromEntries(
    coverageKinds.map((kind) => [kind, { injected: 0, hit: 0, ends: noEnds() }]),
  ) as unknown as Coverage;

export function openReport(seed: number): Report {
  const startedMs = performance.now();
  const diary: string[] = [];
  const [coverage, runs] = [noCoverage(), noEnds()];
  /** What had happened before the current round. */
  let before = new Map<CoverageKind, number>();
  return {
    seed,
    note: (line) => {
      diary.push(`${String(Math.round(performance.now() - startedMs)).padStart(6)} ms  ${line}`);
    },
    coverage,
    edits: new Map(),
    violations: [],
    diary,
    runs,
    beginRound() {
      before = new Map(coverageKinds.map((kind) => [kind, countEvents(coverage[kind])]));
    },
    runEnded(end) {
      runs[end] += 1;
      for (const kind of coverageKinds)
        if (countEvents(coverage[kind]) > (before.get(kind) ?? 0)) coverage[kind].ends[end] += 1;
    },
    answers: 0,
    changes: 0,
    webhooks: 0,
    greenChecks: 0,
    tookMs: 0,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
export const countEdits = ({ edits }: Report): number => sum([...edits.values()]);
export const countFaults = ({ coverage }: Report): number =>
  sum([...requestFaults, ...stateFaults].map((kind) => coverage[kind].injected));

const columns = ['injected', 'met', 'in seeds', ...runEnds] as const;

function coverageRow(kind: CoverageKind, reports: readonly Report[]): string {
  const total = (of: (coverage: Coverage[CoverageKind]) => number): number =>
    sum(reports.map(({ coverage }) => of(coverage[kind])));
  const cells = [
    total(({ injected }) => injected),
    total(({ hit }) => hit),
    reports.filter(({ coverage }) => coverage[kind].hit > 0).length,
    ...runEnds.map((end) => total(({ ends }) => ends[end])),
  ];
  return `${kind.padEnd(20)}${cells.map((cell, index) => String(cell).padStart((columns[index]?.length ?? 0) + 2)).join('')}`;
}

/** The faults that no seed met, although some seed has them: the table is of no use for these. */
export const unmetFaults = (reports: readonly Report[]): CoverageKind[] =>
  coverageKinds.filter(
    (kind) =>
      reports.some(({ coverage }) => coverage[kind].injected > 0) &&
      reports.every(({ coverage }) => coverage[kind].hit === 0),
  );

/**
 * All seeds in one table: each fault, and how the runs of the rounds ended in which it was met; each kind of
 * edit.
 */
export function formatTable(reports: readonly Report[]): string {
  const kinds = [...new Set(reports.flatMap(({ edits }) => [...edits.keys()]))].sort();
  const edits = kinds.map((kind) => `${kind} ${sum(reports.map((report) => report.edits.get(kind) ?? 0))}`);
  const runs = runEnds.map((end) => `${sum(reports.map((report) => report.runs[end]))} ${end}`);
  const unmet = unmetFaults(reports);
  return [
    `${'fault'.padEnd(20)}${columns.map((name) => `  ${name}`).join('')}`,
    ...coverageKinds.map((kind) => coverageRow(kind, reports)),
    ...(unmet.length === 0 ? [] : [`injected and never met: ${unmet.join(', ')}`]),
    `edits: ${edits.join(', ')}; at least ${Math.min(...reports.map(countEdits))} a seed`,
    `faults: at least ${Math.min(...reports.map(countFaults))} a seed`,
    `runs: ${runs.join(', ')}; ${sum(reports.map(({ greenChecks }) => greenChecks))} green ones compared with the account`,
    `${sum(reports.map(({ answers }) => answers))} answers to readers, ${sum(reports.map(({ changes }) => changes))} changes to consumers, ${sum(reports.map(({ webhooks }) => webhooks))} webhooks taken`,
  ].join('\n');
}
