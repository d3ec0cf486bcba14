// The table of a simulation: which faults were met, and how the runs of those rounds ended.
import { describe, expect, it } from 'vitest';
import { formatTable, openReport, unmetFaults } from './report.ts';

function reportOfTwoRounds() {
  const report = openReport(1);
  report.beginRound();
  report.coverage['narrow-role'].injected += 1;
  report.coverage['narrow-role'].hit += 1;
  report.runEnded('partial');
  report.beginRound();
  report.coverage['wrong-count'].injected += 1;
  report.runEnded('failed');
  report.edits.set('edit-lines', 2);
  return report;
}

describe('the table of a simulation', () => {
  it('shows for each fault how the runs ended of the rounds in which it happened', () => {
    const { coverage, runs } = reportOfTwoRounds();
    expect(coverage['narrow-role'].ends).toEqual({ succeeded: 0, partial: 1, failed: 0, cancelled: 0 });
    expect(coverage['wrong-count'].ends).toEqual({ succeeded: 0, partial: 0, failed: 1, cancelled: 0 });
    expect(coverage['stale-page'].ends).toEqual({ succeeded: 0, partial: 0, failed: 0, cancelled: 0 });
    expect(runs).toEqual({ succeeded: 0, partial: 1, failed: 1, cancelled: 0 });
  });

  it('names faults that were injected and never met', () => {
    expect(unmetFaults([reportOfTwoRounds()])).toEqual(['wrong-count']);
    const table = formatTable([reportOfTwoRounds(), openReport(2)]);
    expect(table).toMatch(/^narrow-role +1 +1 +1 +0 +1 +0 +0$/m);
    expect(table).toContain('injected and never met: wrong-count');
    expect(table).toContain('edit-lines 2');
  });
});
