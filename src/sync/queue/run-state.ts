// The states of a run and the legal moves between them. Code and test read the same table; a move is one
// conditional UPDATE.

import type { RunPlan } from '../../warehouse/run-state-row.ts';

export const runModes = ['incremental', 'full', 'reread'] as const satisfies readonly RunPlan['mode'][];

export const runStatuses = [
  'queued',
  'running',
  'waiting',
  'publishing',
  'succeeded',
  'partial',
  'failed',
  'cancelled',
] as const;
export type RunStatus = (typeof runStatuses)[number];

export const legalMoves: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  queued: ['running', 'cancelled', 'failed'],
  running: ['waiting', 'publishing', 'cancelled', 'failed'],
  waiting: ['running', 'cancelled', 'failed'],
  publishing: ['succeeded', 'partial', 'failed'],
  succeeded: [],
  partial: [],
  failed: [],
  cancelled: [],
};

export const isFinal = (status: RunStatus): boolean => legalMoves[status].length === 0;
export const finalStatuses = runStatuses.filter(isFinal);

/** The states from which a run may move to this one. */
export const movesTo = (to: RunStatus): RunStatus[] =>
  runStatuses.filter((from) => legalMoves[from].includes(to));
