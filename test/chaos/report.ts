// What a seed covered, and what went wrong: coverage by kind of event, and descriptions of violations.
import { type MutationKind, requestFaults, stateFaults } from './plan.ts';

export const coverageKinds = [...requestFaults, ...stateFaults, 'clock-step', 'kill -9', 'immediate stop', 'reader'] as const;
export type CoverageKind = (typeof coverageKinds)[number];
/** `injected`: it was armed. `hit`: it hit a request, or work in progress. */
export type Coverage = Record<CoverageKind, { injected: number; hit: number }>;

/** Which promise was broken. */
export type ViolationKind = 'final' | 'green' | 'mixed' | 'deleted' | 'skipped' | 'stuck';
export type Violation = { readonly kind: ViolationKind; readonly message: string };

export type Report = {
  readonly seed: number;
  readonly coverage: Coverage;
  readonly mutations: Map<MutationKind, number>;
  readonly violations: Violation[];
  /** What happened, and how many ms after the start. */
  readonly diary: string[];
  note(line: string): void;
  /** How runs ended, including those of the quiet phase. */
  readonly runs: Record<'succeeded' | 'partial' | 'failed' | 'cancelled', number>;
  answers: number;
  changes: number;
  greenChecks: number;
  tookMs: number;
};

const noCoverage = (): Coverage => Object.fromEntries(coverageKinds.map((kind) => [kind, { injected: 0, hit: 0 }])) as unknown as Coverage;

export function openReport(seed: number): Report {
  const startedMs = performance.now();
  const diary: string[] = [];
  return {
    seed,
    note: (line) => {
      diary.push(`${String(Math.round(performance.now() - startedMs)).padStart(6)} ms  ${line}`);
    },
    coverage: noCoverage(),
    mutations: new Map(),
    violations: [],
    diary,
    runs: { succeeded: 0, partial: 0, failed: 0, cancelled: 0 },
    answers: 0,
    changes: 0,
    greenChecks: 0,
    tookMs: 0,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
export const mutationsOf = ({ mutations }: Report): number => sum([...mutations.values()]);
export const faultsOf = ({ coverage }: Report): number => sum([...requestFaults, ...stateFaults].map((kind) => coverage[kind].injected));

/** All seeds in one table. */
export function tableOf(reports: readonly Report[]): string {
  const lines = coverageKinds.map((kind) => {
    const of = (what: 'injected' | 'hit'): number => sum(reports.map(({ coverage }) => coverage[kind][what]));
    const seeds = reports.filter(({ coverage }) => coverage[kind].hit > 0).length;
    return `${kind.padEnd(18)} ${String(of('injected')).padStart(6)} injected ${String(of('hit')).padStart(6)} hit   in ${seeds} of ${reports.length} seeds`;
  });
  const runs = (['succeeded', 'partial', 'failed', 'cancelled'] as const).map(
    (end) => `${sum(reports.map((report) => report.runs[end]))} ${end}`,
  );
  const mutations = reports.map(mutationsOf);
  return [
    ...lines,
    `mutations: ${sum(mutations)}, at least ${Math.min(...mutations)} a seed; faults: at least ${Math.min(...reports.map(faultsOf))} a seed`,
    `runs: ${runs.join(', ')}; ${sum(reports.map(({ greenChecks }) => greenChecks))} green ones compared with the account`,
    `${sum(reports.map(({ answers }) => answers))} answers to readers, ${sum(reports.map(({ changes }) => changes))} changes to consumers`,
  ].join('\n');
}
