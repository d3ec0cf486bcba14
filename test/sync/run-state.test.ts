import { describe, expect, it } from 'vitest';
import {
  finalStatuses,
  isFinal,
  legalMoves,
  movesTo,
  type RunStatus,
  runStatuses,
} from '../../src/sync/queue/run-state.ts';

const legal = new Set([
  'queued → running',
  'queued → cancelled',
  'queued → failed',
  'running → waiting',
  'running → publishing',
  'running → cancelled',
  'running → failed',
  'waiting → running',
  'waiting → cancelled',
  'waiting → failed',
  'publishing → succeeded',
  'publishing → partial',
  'publishing → failed',
]);

describe('the moves of a run', () => {
  it.each(runStatuses.flatMap((from) => runStatuses.map((to): [RunStatus, RunStatus] => [from, to])))(
    '%s → %s',
    (from, to) => {
      expect(legalMoves[from].includes(to)).toBe(legal.has(`${from} → ${to}`));
      expect(movesTo(to).includes(from)).toBe(legal.has(`${from} → ${to}`));
    },
  );

  it('four states are final, with no moves out of them', () => {
    expect(finalStatuses).toEqual(['succeeded', 'partial', 'failed', 'cancelled']);
    const others = runStatuses.filter((status) => !isFinal(status));
    expect(others.join(' ')).toBe('queued running waiting publishing');
  });

  it('a run can no longer be cancelled once it is being published', () => {
    expect(movesTo('cancelled')).not.toContain('publishing');
  });
});
