// Mutants of what proves lines: totals at reading, in the scan and where lines changed by their own time.
import type { Mutant } from './mutant.ts';

export const lineMutants: readonly Mutant[] = [
  {
    name: 'lines-compared',
    without: "lines that were read are not compared with the ERP's totals",
    file: 'src/sync/prove/line-prover.ts',
    replaces: 'findComparableLines',
    instead: '() => () => null',
    concerns: ['dropped-lines', 'type:invoice'],
  },
  {
    name: 'lines-still-differ',
    without: 'lines that still differ when they are read again are published',
    file: 'src/sync/prove/line-prover.ts',
    replaces: 'createLineProver',
    instead: `(original) => (options) => {
      const prove = original(options);
      return (records) => prove(records).catch((error) => {
        if (error.code !== 'LINES_MISMATCH') throw error;
        return { again: [], lines: null };
      });
    }`,
    concerns: ['dropped-lines', 'false-line-total'],
  },
  {
    name: 'lines-unreturned',
    without: 'a record whose lines differ is published when it is not returned again',
    file: 'src/sync/prove/line-prover.ts',
    replaces: 'assertGone',
    instead: '() => async () => undefined',
    concerns: ['dropped-lines', 'dropped-rows', 'locked-record'],
  },
  {
    name: 'lines-counted',
    without: 'the number of lines is not compared',
    file: 'src/sync/prove/line-totals.ts',
    replaces: 'isEqual',
    instead:
      '(original) => (own, erp, compared) => original({ ...own, count: erp?.lines ?? 0 }, erp, compared)',
    concerns: ['dropped-lines', 'silent-line-added', 'silent-line-removed'],
  },
  {
    name: 'lines-summed',
    without: 'the sums of lines are not compared',
    file: 'src/sync/prove/line-totals.ts',
    replaces: 'isEqual',
    instead: '(original) => (own, erp, compared) => original(own, erp, { ...compared, sums: [] })',
    concerns: ['silent-line-amount', 'new-day', 'null-line-column'],
  },
  {
    name: 'lines-latest-time',
    without: 'the latest modification time of lines is not compared',
    file: 'src/sync/prove/line-totals.ts',
    replaces: 'isEqual',
    instead: '(original) => (own, erp, compared) => original(own, erp, { ...compared, modifiedField: null })',
    concerns: ['line-time', 'silent-line-text'],
  },
  {
    name: 'lines-changed-counted',
    without: 'the number of lines that changed since a time is not compared',
    file: 'src/sync/prove/line-totals.ts',
    replaces: 'isEqual',
    instead: '(original) => (own, erp, compared) => original(own, erp, { ...compared, changedSince: null })',
    concerns: ['line-time', 'clock-back'],
  },
  {
    name: 'lines-followed',
    without: 'records of which only lines changed are not read',
    file: 'src/sync/read/changed-lines.ts',
    replaces: 'findStoredDiffering',
    instead: '(original) => async (...given) => (given.at(-1) === null ? original(...given) : [])',
    concerns: ['line-time'],
  },
  {
    name: 'lines-scanned',
    without: "a scan does not compare stored lines with the ERP's totals",
    file: 'src/sync/read/changed-lines.ts',
    replaces: 'findStoredDiffering',
    instead: '(original) => async (...given) => (given.at(-1) === null ? [] : original(...given))',
    concerns: ['silent-line-amount', 'silent-line-added', 'silent-line-removed', 'new-day'],
  },
  {
    name: 'lines-column-asked',
    without: 'a scan does not read a line to notice that a column of lines is gone',
    file: 'src/sync/read/scan.ts',
    replaces: 'readOneWithLines',
    instead: '() => async () => undefined',
    concerns: ['hidden-line-column', 'new-day'],
  },
];
